import { describeResource } from '../support/describe-resource.ts'
import { AS_ADMIN } from '../support/gateway.ts'

const NAMES = ['Support', 'Legal', 'Ärzte', 'R&D']

describeResource({
  name: 'group',
  path: '/admin/groups',
  create: (random) => ({
    name: random.pick(NAMES),
    ...(random.chance(0.5) && { description: random.pick(['x', null]) }),
  }),
  change: (random) =>
    random.pick([
      { name: random.pick(NAMES) },
      { description: random.pick(['x', 'y', null]) },
      { name: random.pick(NAMES), description: random.pick(['x', 'y', null]) },
    ]),
  invalid: [{ name: '' }, { name: 7 }, { name: 'x', description: 7 }],
})

const ROLES = ['auditor', 'editor', 'admin']

describeResource({
  name: 'operator',
  path: '/admin/operators',
  create: (random) => ({ name: random.pick(NAMES), role: random.pick(ROLES) }),
  change: (random) =>
    random.pick([
      { name: random.pick(NAMES) },
      { role: random.pick(ROLES) },
      { name: random.pick(NAMES), role: random.pick(ROLES) },
    ]),
  invalid: [
    { name: '', role: 'auditor' },
    { name: 'x', role: 'root' },
  ],
  shownOnce: ['key'],
})

const SCOPES = [{ everyone: true }, { groups: [], users: [1] }]

describeResource({
  name: 'policy',
  path: '/admin/policies',
  create: (random) => ({
    name: random.pick(NAMES),
    is_enabled: random.chance(0.5),
    priority: random.integer(3),
    applies_to: random.pick(SCOPES),
    ...(random.chance(0.5) && { description: 'x', visibility: 'full' }),
  }),
  change: (random) =>
    random.pick([
      { priority: random.integer(3) },
      { is_enabled: random.chance(0.5), applies_to: random.pick(SCOPES) },
      { visibility: random.pick(['name', 'full']), description: random.pick(['x', null]) },
    ]),
  invalid: [
    { name: 'x', is_enabled: true, priority: 1001, applies_to: { everyone: true } },
    { name: 'x', is_enabled: true, priority: 0, applies_to: { groups: [999_999] } },
    { name: 'x', is_enabled: true, priority: 0, applies_to: {} },
  ],
})

const PLANS = ['free', 'paid']

describeResource({
  name: 'user',
  path: '/admin/users',
  create: (random) => ({ name: random.pick(NAMES), plan: random.pick(PLANS) }),
  // A change of anything but the name alone sets all limits.
  change: (random) =>
    random.chance(0.3)
      ? { name: random.pick(NAMES) }
      : {
          plan: random.pick(PLANS),
          requests_per_minute: random.pick([7, null]),
          tokens_per_minute: random.pick([1000, null]),
          max_concurrent: random.pick([4, null]),
        },
  invalid: [
    { name: '', plan: 'free' },
    { name: 'x', plan: 'gold' },
    { name: 'x', plan: 'free', max_concurrent: 0 },
  ],
})

describeResource({
  name: 'key',
  path: '/admin/keys',
  async addParent(gateway) {
    const user = { name: 'Ada', plan: 'paid' }
    const { body } = await gateway.call('POST', '/admin/users', user, AS_ADMIN)
    return `/admin/users/${body.data.id}/keys`
  },
  create: (random) => ({
    name: random.pick(NAMES),
    ...(random.chance(0.5) && { models: ['gpt-4o'] }),
    ...(random.chance(0.5) && {
      endpoints: ['/v1/chat/completions'],
      expires_at: '2099-12-31T00:00:00.000000Z',
    }),
  }),
  changedByDeletion: ['revoked_at'],
  invalid: [{ name: '' }, { models: [] }, { models: ['unknown'] }, { expires_at: '2020-01-01T00:00:00Z' }],
  shownOnce: ['key'],
  listed: ['last_used_at'],
})
