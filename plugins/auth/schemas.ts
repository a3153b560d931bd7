import { Nullable, PLANS, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { BUDGET_PERIODS, BUDGET_REACTIONS } from '../../core/events/domain-events.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'

const name = Type.String({ minLength: 1, maxLength: 128, description: 'Name of the user.' })
const plan = StringEnum(PLANS, { description: 'Plan of the user.' })

/** The body of `POST /admin/users`. */
export const UserInput = StrictObject({ name, plan }, { $id: 'UserInput', description: 'A new user.' })

/** The largest integer that is exact everywhere. */
const LimitValue = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

function ownLimit(name: string) {
  return Type.Optional(Nullable(LimitValue, { description: `The user's own ${name}; null: no limit.` }))
}

function shownLimit(name: string) {
  const description = `The user's own ${name}; null: no limit. Missing if the limit of the plan applies.`
  return Type.Optional(Nullable(LimitValue, { description }))
}

/** The body of `PATCH /admin/users/{id}`. */
export const UserChange = StrictObject(
  {
    plan: Type.Optional(plan),
    requests_per_minute: ownLimit('limit of requests per minute'),
    tokens_per_minute: ownLimit('limit of tokens per minute'),
    max_concurrent: ownLimit('limit of inference requests at the same time'),
  },
  { $id: 'UserChange', description: 'The fields to change.', minProperties: 1 },
)

const budgetFields = {
  limit_usd: Type.Number({
    minimum: 0,
    maximum: 9_000_000,
    description: 'What may be spent in a period, in US dollars, down to a billionth.',
  }),
  period: StringEnum(BUDGET_PERIODS, {
    description: 'When spending is counted anew: at 0:00 UTC, on Mondays, on the first of a month, or never.',
  }),
  warn_ratio: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      maximum: 1,
      description: 'The share of the limit from which answers have a warning.',
    }),
  ),
  on_exceed: StringEnum(BUDGET_REACTIONS, {
    description: 'Whether requests are refused, or automatic choices take the mode cost.',
  }),
}

/** The body of `PUT …/budget`. */
export const BudgetInput = StrictObject(budgetFields, { $id: 'BudgetInput', description: 'A budget.' })

const BudgetTerms = Type.Object(budgetFields, { $id: 'BudgetTerms', description: 'A budget.' })

const KeySchema = Type.Object(
  {
    budget: Type.Optional(BudgetTerms),
    id: Type.String({ description: 'Id of the key, which is not secret.' }),
    created_at: Timestamp('When the key was created.'),
    revoked_at: Nullable(Timestamp('When the key was revoked; null if it is valid.')),
  },
  { $id: 'ApiKey', description: 'A key without its secret.' },
)

export const UserSchema = Type.Object(
  {
    id: Count('Id of the user.'),
    name,
    plan,
    requests_per_minute: shownLimit('limit of requests per minute'),
    tokens_per_minute: shownLimit('limit of tokens per minute'),
    max_concurrent: shownLimit('limit of inference requests at the same time'),
    budget: Type.Optional(BudgetTerms),
    groups: Type.Array(Type.Integer({ format: 'int64' }), { description: 'Ids of the groups of the user.' }),
    created_at: Timestamp('When the user was created.'),
    keys: Type.Array(KeySchema, { description: 'All keys of the user, including revoked ones.' }),
  },
  { $id: 'User', description: 'A user of the gateway.' },
)

export const IssuedKey = Type.Object(
  {
    id: Type.String({ description: 'Id of the key, which is not secret.' }),
    key: Type.String({ description: 'The API key. It is stored as a hash and cannot be retrieved again.' }),
  },
  { $id: 'IssuedApiKey', description: 'A key with its secret.' },
)

export const userId = Type.Integer({
  minimum: 1,
  format: 'int64',
  description: 'Id of a user.',
  examples: [7],
})

export const keyId = Type.String({
  minLength: 1,
  description: 'Id of a key.',
  examples: ['key_gGvBxwr2CTTZ4RYVqXhM0SkL'],
})
