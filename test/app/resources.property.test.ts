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
