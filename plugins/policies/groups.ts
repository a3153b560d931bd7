import { defineResource, GatewayError, Nullable, serialId, Type } from '../../core/contract/index.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import { buildIdSchema } from '../../core/resources/resource.ts'
import { foldGroup, type Group, groupEvents } from '../../projections/events/groups.ts'
import type { Policies } from '../../projections/policies.ts'
import { BudgetTerms } from '../auth/index.ts'

interface GroupServices {
  readonly policies: Pick<Policies, 'policyOfGroup'>
}

/** Groups of users. Their members are events of the users: see `group-members.ts`. */
export const groups = defineResource({
  name: 'group',
  plural: 'groups',
  description: 'A group of users.',
  path: '/admin/groups',
  tag: 'groups',
  roles: { read: 'auditor', write: 'editor' },
  scoped: {
    read: 'filtered',
    write: 'refused',
    includes: ({ id }, scope) => scope.hasGroup(id),
    // A group whose deletion had no effect: the reason names a policy.
    includesEvent: ({ type }) => type !== 'GroupDeleted',
  },
  id: serialId(12),
  fields: {
    name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the group.' }),
    description: Nullable(Type.String({ maxLength: 1000 }), {
      default: null,
      description: 'What the group is for.',
    }),
  },
  shown: {
    budget: Type.Optional(BudgetTerms),
    created_at: Timestamp('When the group was created.'),
    updated_at: Timestamp('When its name or description was last changed.'),
  },
  list: { rank: ({ id }) => id, order: 'sorted by id', limit: 100, isSearchable: true },
  summaries: { create: 'Creates a group of users.', delete: 'Deletes a group. Its users stay.' },
  examples: {
    create: { support: { name: 'Support', description: 'Everyone who answers customers' } },
    update: { rename: { name: 'Customer support' } },
  },
  events: {
    family: groupEvents,
    created: 'GroupCreated',
    changed: 'GroupUpdated',
    deleted: 'GroupDeleted',
    fold: foldGroup,
  },
  /** A policy that applies to the group would no longer apply to its users. */
  checkUnused({ id }: Group, { policies }: GroupServices) {
    const policy = policies.policyOfGroup(id)
    if (policy === undefined) return
    const message =
      `Policy ${policy.id} ("${policy.name}") applies to group ${id}. ` +
      'Change or delete the policy before you delete the group.'
    throw new GatewayError('conflict', message)
  },
})

export const groupId = buildIdSchema(groups)
