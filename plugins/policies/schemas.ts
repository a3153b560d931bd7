import { Nullable, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'

const nameOf = (what: string) =>
  Type.String({ minLength: 1, maxLength: 128, description: `Name of the ${what}.` })
const descriptionOf = (what: string) =>
  Nullable(Type.String({ maxLength: 1000 }), { description: `What the ${what} is for.` })

const ids = (what: string, maxItems: number) =>
  Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
    maxItems,
    uniqueItems: true,
    description: `Ids of ${what}.`,
  })

const Everyone = StrictObject(
  { everyone: Type.Literal(true, { description: 'Always true.' }) },
  { $id: 'PolicyScopeEveryone', description: 'All users.' },
)

const GroupsAndUsers = {
  groups: ids('groups, whose users the policy applies to', 1000),
  users: ids('users that the policy applies to', 10_000),
}

const policyFields = {
  name: nameOf('policy'),
  description: Type.Optional(descriptionOf('policy')),
  is_enabled: Type.Boolean({ description: 'Whether the rules of the policy are applied.' }),
  priority: Type.Integer({
    minimum: -1000,
    maximum: 1000,
    description: 'Policies with a higher priority are evaluated first; of equal ones, the older one.',
  }),
  applies_to: Type.Union(
    [
      Everyone,
      StrictObject(
        { groups: Type.Optional(GroupsAndUsers.groups), users: Type.Optional(GroupsAndUsers.users) },
        { $id: 'PolicyScopeInput', minProperties: 1, description: 'Some users.' },
      ),
    ],
    { description: 'The users that the policy applies to.' },
  ),
  visibility: Type.Optional(
    StringEnum(['name', 'full'], {
      description: 'What users see of the rules: their names (default), or patterns and conditions, too.',
    }),
  ),
}

/** The body of `POST /admin/policies`. */
export const PolicyInput = StrictObject(policyFields, { $id: 'PolicyInput', description: 'A new policy.' })

/** The body of `PATCH /admin/policies/{id}`. */
export const PolicyChange = StrictObject(
  {
    name: Type.Optional(policyFields.name),
    description: policyFields.description,
    is_enabled: Type.Optional(policyFields.is_enabled),
    priority: Type.Optional(policyFields.priority),
    applies_to: Type.Optional(policyFields.applies_to),
    visibility: policyFields.visibility,
  },
  { $id: 'PolicyChange', description: 'The fields to change.', minProperties: 1 },
)

export type PolicyFields = Static<typeof PolicyChange>

export const PolicySchema = Type.Object(
  {
    id: Count('Id of the policy.'),
    name: policyFields.name,
    description: descriptionOf('policy'),
    is_enabled: policyFields.is_enabled,
    priority: policyFields.priority,
    applies_to: Type.Union(
      [
        Type.Object(
          { everyone: Everyone.properties.everyone },
          { $id: 'EveryoneScope', description: 'All users.' },
        ),
        Type.Object(GroupsAndUsers, { $id: 'PolicyScope', description: 'Some users.' }),
      ],
      { description: 'The users that the policy applies to.' },
    ),
    visibility: StringEnum(['name', 'full'], { description: 'What users see of the rules.' }),
    created_at: Timestamp('When the policy was created.'),
    updated_at: Timestamp('When its settings were last changed.'),
    firewall_rules: Type.Optional(Count('How many firewall rules it has, if the list was asked for it.')),
    routing_rules: Type.Optional(Count('How many routing rules it has, if the list was asked for it.')),
  },
  { $id: 'Policy', description: 'A named set of rules above those of users.' },
)

export const ruleCounts = Type.Optional(
  Type.Boolean({ description: 'Adds how many rules of both kinds each policy has.' }),
)

export const policyId = Type.Integer({
  minimum: 1,
  format: 'int64',
  description: 'Id of a policy.',
  examples: [15],
})
