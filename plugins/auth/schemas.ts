import { Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import { BUDGET_PERIODS, BUDGET_REACTIONS } from '../../projections/events/budgets.ts'

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

export const BudgetTerms = Type.Object(budgetFields, { $id: 'BudgetTerms', description: 'A budget.' })

const keyName = Type.String({ minLength: 1, maxLength: 128, description: 'Name of the key.' })

const allowedModels = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description: 'The models that the key may use: names or aliases, or provider/name. Missing: all.',
})

const allowedEndpoints = Type.Array(Type.String({ pattern: '^/[\\w/.-]*[\\w.-]$', maxLength: 256 }), {
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description: 'The paths that the key may call, with those below them. Missing: all.',
})

const futureTime = (description: string) =>
  Type.String({
    minLength: 1,
    description: `${description}: an ISO 8601 time with a time zone, in the future.`,
    examples: ['2099-12-31T00:00:00Z'],
  })

/** The body of `POST /admin/users/{id}/keys`. */
export const KeyInput = StrictObject(
  {
    name: Type.Optional(keyName),
    expires_at: Type.Optional(futureTime('When the key expires')),
    models: Type.Optional(allowedModels),
    endpoints: Type.Optional(allowedEndpoints),
  },
  { $id: 'ApiKeyInput', description: 'A new key. Without a body, it has no name and no restrictions.' },
)

/** The body of `POST /admin/keys/{id}/rotate`. */
export const KeyRotation = StrictObject(
  {
    overlap_seconds: Type.Integer({
      minimum: 0,
      maximum: 90 * 24 * 60 * 60,
      description: 'How long the replaced key stays valid; 0 revokes it immediately.',
    }),
    expires_at: Type.Optional(futureTime('When the new key expires, by default when the replaced one does')),
  },
  { $id: 'ApiKeyRotation', description: 'How a key is replaced.' },
)

const keyFields = {
  id: Type.String({ description: 'Id of the key, which is not secret.' }),
  name: Type.Optional(keyName),
  models: Type.Optional(allowedModels),
  endpoints: Type.Optional(allowedEndpoints),
  expires_at: Type.Optional(Timestamp('When the key expires; missing if it does not.')),
  budget: Type.Optional(BudgetTerms),
  created_at: Timestamp('When the key was created.'),
  revoked_at: Nullable(Timestamp('When the key was revoked; null if it was not.')),
}

export const KeySchema = Type.Object(keyFields, { $id: 'ApiKey', description: 'A key without its secret.' })

export const UsedKeySchema = Type.Object(
  {
    ...keyFields,
    last_used_at: Type.Optional(
      Nullable(Timestamp('The hour of the last recorded inference request; null if there is none.')),
    ),
  },
  { $id: 'UsedApiKey', description: 'A key, and when it was used.' },
)

export const IssuedKey = Type.Object(
  {
    id: Type.String({ description: 'Id of the key, which is not secret.' }),
    key: Type.String({ description: 'The API key. It is stored as a hash and cannot be retrieved again.' }),
  },
  { $id: 'IssuedApiKey', description: 'A key with its secret.' },
)

export const keyId = Type.String({
  minLength: 1,
  description: 'Id of a key.',
  examples: ['key_gGvBxwr2CTTZ4RYVqXhM0SkL'],
})
