import { type JsonObject, Nullable, type Static, StrictObject, Type } from '../../core/contract/index.ts'
import { BudgetInput } from '../auth/index.ts'
import { policies } from '../policies/index.ts'

const id = (what: string) =>
  Type.Integer({ minimum: 1, format: 'int64', description: `Id of an existing ${what}.` })

export const reference = (what: string) =>
  Type.Union([Type.Integer({ minimum: 1, format: 'int64' }), Type.String({ minLength: 1, maxLength: 128 })], {
    description: `A ${what}, by id or by name. The name must be unique.`,
  })

const absent = Type.Optional(
  Type.Literal(true, { description: 'Removes it. No other field than id or name may be given.' }),
)

const { name, description, is_enabled, priority, applies_to, visibility } = policies.fields
const [everyone] = applies_to.anyOf

/** A rule in the file. Its fields are those of the rule's own endpoints, which parse it. */
const RuleEntry = Type.Unsafe<JsonObject>({
  type: 'object',
  additionalProperties: true,
  description: 'A rule: the fields that its own endpoint accepts, and the id of an existing rule.',
})

const ruleList = (kind: string) =>
  Type.Optional(
    Type.Array(RuleEntry, { maxItems: 10_000, description: `All ${kind} rules. Others are removed.` }),
  )

const rules = { firewall_rules: ruleList('firewall'), routing_rules: ruleList('routing') }

const GroupEntry = StrictObject(
  {
    id: Type.Optional(id('group')),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Name of the group.' })),
    absent,
    description: Type.Optional(description),
    members: Type.Optional(
      Type.Array(reference('user'), {
        maxItems: 100_000,
        description: 'All members: others leave the group. Missing: the members stay as they are.',
      }),
    ),
  },
  { $id: 'GroupEntry', description: 'A group of users.' },
)

const PolicyEntry = StrictObject(
  {
    id: Type.Optional(id('policy')),
    name: Type.Optional(name),
    absent,
    description: Type.Optional(description),
    is_enabled: Type.Optional(is_enabled),
    priority: Type.Optional(priority),
    visibility: Type.Optional(visibility),
    applies_to: Type.Optional(
      Type.Union(
        [
          everyone,
          StrictObject(
            {
              groups: Type.Optional(
                Type.Array(reference('group'), { maxItems: 1000, description: 'All users of these groups.' }),
              ),
              users: Type.Optional(
                Type.Array(reference('user'), { maxItems: 10_000, description: 'These users.' }),
              ),
            },
            { $id: 'PolicyScopeEntry', minProperties: 1, description: 'Some users.' },
          ),
        ],
        { description: 'The users that the policy applies to.' },
      ),
    ),
    ...rules,
  },
  { $id: 'PolicyEntry', description: 'A policy with all of its rules.' },
)

const UserEntry = StrictObject(
  { user: reference('user'), ...rules },
  { $id: 'UserRulesEntry', description: 'All rules of a user.' },
)

const budget = Nullable(BudgetInput, { description: 'The budget. null removes it.' })

const BudgetEntries = StrictObject(
  {
    overall: Type.Optional(budget),
    shadow: Type.Optional(budget),
    users: Type.Optional(
      Type.Array(
        StrictObject(
          { user: reference('user'), budget },
          { $id: 'UserBudgetEntry', description: 'A budget of a user.' },
        ),
        { description: 'Budgets of users.' },
      ),
    ),
    groups: Type.Optional(
      Type.Array(
        StrictObject(
          { group: reference('group'), budget },
          { $id: 'GroupBudgetEntry', description: 'A budget of the users of a group together.' },
        ),
        { description: 'Budgets of groups.' },
      ),
    ),
    keys: Type.Optional(
      Type.Array(
        StrictObject(
          {
            key: Type.String({ minLength: 1, maxLength: 64, description: 'Id of an API key, not the key.' }),
            budget,
          },
          { $id: 'KeyBudgetEntry', description: 'A budget of an API key.' },
        ),
        { description: 'Budgets of API keys.' },
      ),
    ),
  },
  { $id: 'BudgetEntries', description: 'Budgets. Those that are not listed stay as they are.' },
)

const section = <Entry extends typeof GroupEntry | typeof PolicyEntry | typeof UserEntry>(
  entry: Entry,
  what: string,
) =>
  Type.Optional(
    Type.Array(entry, {
      maxItems: 10_000,
      description: `${what}. Those that are not listed stay as they are.`,
    }),
  )

/** Policies, groups, rules of users and budgets as they are to be. See docs/guides/gitops.md. */
export const RulesFileSchema = StrictObject(
  {
    groups: section(GroupEntry, 'Groups'),
    policies: section(PolicyEntry, 'Policies'),
    users: section(UserEntry, 'Users with their own rules'),
    budgets: Type.Optional(BudgetEntries),
  },
  { $id: 'RulesFile', description: 'Policies, groups, rules of users and budgets as they are to be.' },
)

export type RulesFile = Static<typeof RulesFileSchema>
export type GroupEntry = Static<typeof GroupEntry>
export type PolicyEntry = Static<typeof PolicyEntry>
export type UserEntry = Static<typeof UserEntry>
export type BudgetEntries = Static<typeof BudgetEntries>
/** A user or a group, by id or by unique name. */
export type Reference = number | string

export const SECTIONS = ['groups', 'policies', 'users', 'budgets'] as const

export type Section = (typeof SECTIONS)[number]
