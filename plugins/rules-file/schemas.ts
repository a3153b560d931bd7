import { Nullable, type Static, StrictObject, type TSchema, Type } from '../../core/contract/index.ts'
import { capitalize } from '../../core/resources/resource.ts'
import { BudgetInput } from '../auth/index.ts'
import { GROUPS, POLICIES, reference, ruleLists } from './sections.ts'

const UserEntry = StrictObject(
  { user: reference('user'), ...ruleLists },
  { $id: 'UserRulesEntry', description: 'All rules of a user.' },
)

const budget = Nullable(BudgetInput, { description: 'The budget. null removes it.' })

const ownedBudgets = <Owner extends string, Schema extends TSchema>(
  owner: Owner,
  schema: Schema,
  of: string,
) =>
  Type.Optional(
    Type.Array(
      StrictObject({ [owner]: schema, budget } as Record<Owner, Schema> & { budget: typeof budget }, {
        $id: `${capitalize(owner)}BudgetEntry`,
        description: `A budget of ${of}.`,
      }),
      { description: `Budgets of ${owner}s.` },
    ),
  )

const keyId = Type.String({ minLength: 1, maxLength: 64, description: 'Id of an API key, not the key.' })

const BudgetEntries = StrictObject(
  {
    overall: Type.Optional(budget),
    shadow: Type.Optional(budget),
    users: ownedBudgets('user', reference('user'), 'a user'),
    groups: ownedBudgets('group', reference('group'), 'the users of a group together'),
    keys: ownedBudgets('key', keyId, 'an API key'),
  },
  { $id: 'BudgetEntries', description: 'Budgets. Those that are not listed stay as they are.' },
)

const section = <Entry extends TSchema>(entry: Entry, what: string) =>
  Type.Optional(
    Type.Array(entry, {
      maxItems: 10_000,
      description: `${what}. Those that are not listed stay as they are.`,
    }),
  )

/** Policies, groups, rules of users and budgets as they are to be. See docs/guides/gitops.md. */
export const RulesFileSchema = StrictObject(
  {
    groups: section(GROUPS.schema, 'Groups'),
    policies: section(POLICIES.schema, 'Policies'),
    users: section(UserEntry, 'Users with their own rules'),
    budgets: Type.Optional(BudgetEntries),
  },
  { $id: 'RulesFile', description: 'Policies, groups, rules of users and budgets as they are to be.' },
)

export type RulesFile = Static<typeof RulesFileSchema>
export type GroupEntry = Static<typeof GROUPS.schema>
export type PolicyEntry = Static<typeof POLICIES.schema>
export type UserEntry = Static<typeof UserEntry>
export type BudgetEntries = Static<typeof BudgetEntries>

export const SECTIONS = ['groups', 'policies', 'users', 'budgets'] as const

export type Section = (typeof SECTIONS)[number]
