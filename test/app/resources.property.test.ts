import { describeResource } from '../support/describe-resource.ts'

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
