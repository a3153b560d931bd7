import {
  type Content,
  defineResource,
  Nullable,
  randomId,
  StrictObject,
  serialId,
  Type,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import { buildIdSchema, buildResource } from '../../core/resources/resource.ts'
import { parseTime } from '../../core/util/as-of.ts'
import { newKeyId } from '../../core/util/ids.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { foldKey, type Key, userEvents } from '../../projections/events/users.ts'
import { BudgetTerms } from './schemas.ts'

/**
 * When keys and users last sent an inference request: the hour, in Unix milliseconds, of those that did.
 * Rejects if it is not known.
 */
export interface LastUses {
  ofKeys(ids: readonly string[]): Promise<ReadonlyMap<string, number>>
  ofUsers(ids: readonly number[]): Promise<ReadonlyMap<number, number>>
}

export interface KeyServices {
  /** Returns the name of a model that a key is restricted to; undefined if there is no such model. */
  readonly resolveAllowedModel?: (name: string) => string | undefined
  /** Returns the paths of all endpoints for users. */
  readonly userPaths?: () => readonly string[]
  readonly accounts: Pick<Accounts, 'user'>
  readonly lastUse?: LastUses | undefined
}

/** Reads when keys were last used, for lists of them. */
export async function readLastUse(
  keyIds: readonly string[],
  { lastUse }: Pick<KeyServices, 'lastUse'>,
): Promise<(key: Pick<Key, 'id'>) => { readonly last_used_at?: string | null }> {
  if (lastUse === undefined) return () => ({})
  const uses = await lastUse.ofKeys(keyIds)
  return ({ id }) => {
    const usedAt = uses.get(id)
    return { last_used_at: usedAt === undefined ? null : new Date(usedAt).toISOString() }
  }
}

/** The warning of lists without it. */
export const LAST_USE_UNAVAILABLE = {
  code: 'ledger_unavailable',
  message: 'The request ledger cannot be read at the moment, so it is not known when the keys were used.',
}

const allowed = (items: object, description: string) =>
  Type.Array(Type.String({ ...items, maxLength: 256 }), {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: `${description} Missing: all.`,
  })

export const futureTime = (description: string) =>
  Type.String({
    minLength: 1,
    description: `${description}: an ISO 8601 time with a time zone, in the future.`,
    examples: ['2099-12-31T00:00:00Z'],
  })

/** The keys of users. The secrets are beside them: see `manage-keys.ts`. */
export const keys = defineResource({
  name: 'key',
  plural: 'keys',
  title: 'ApiKey',
  description: 'A key without its secret.',
  path: '/admin/keys',
  parent: { name: 'user', id: serialId(7), path: '/admin/users/{id}/keys' },
  tag: 'admin',
  roles: { read: 'auditor', write: 'admin' },
  scoped: {
    read: 'filtered',
    write: 'filtered',
    includes: (_, scope, userId) => scope.hasUser(userId),
    includesParent: (userId, scope) => scope.hasUser(userId),
  },
  id: randomId(newKeyId, 'key_gGvBxwr2CTTZ4RYVqXhM0SkL'),
  fields: {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Name of the key.' })),
    expires_at: Type.Optional(futureTime('When the key expires')),
    models: Type.Optional(
      allowed({ minLength: 1 }, 'The models that the key may use: names or aliases, or provider/name.'),
    ),
    endpoints: Type.Optional(
      allowed({ pattern: '^/[\\w/.-]*[\\w.-]$' }, 'The paths that the key may call, with those below them.'),
    ),
  },
  shown: {
    expires_at: Type.Optional(Timestamp('When the key expires; missing if it does not.')),
    budget: Type.Optional(BudgetTerms),
    created_at: Timestamp('When the key was created.'),
    revoked_at: Nullable(Timestamp('When the key was revoked; null if it was not.')),
    last_used_at: Type.Optional(
      Nullable(
        Timestamp('In lists: the hour of the last recorded inference request; null if there is none.'),
      ),
    ),
  },
  list: {
    rank: creationRank,
    order: 'including revoked ones, oldest first',
    limit: 1000,
    more: {
      read: ({ accounts, lastUse }: KeyServices, userId) =>
        readLastUse(
          (accounts.user(userId)?.keys ?? []).map(({ id }) => id),
          { lastUse },
        ),
      unavailable: LAST_USE_UNAVAILABLE,
    },
  },
  verbs: { create: 'issue', delete: 'revoke' },
  summaries: {
    list: 'Lists the keys of a user, and when they were last used.',
    create: 'Creates an API key for a user.',
  },
  examples: {
    create: {
      restricted: {
        name: 'Batch job',
        expires_at: '2099-12-31T00:00:00Z',
        models: ['gpt-4o'],
        endpoints: ['/v1/chat/completions'],
      },
    },
  },
  events: {
    family: userEvents,
    created: 'KeyIssued',
    deleted: 'KeyRevoked',
    isDeleted: ({ revokedAt }: Key) => revokedAt !== null,
    fold: foldKey,
  },
  complete({ expiresAt, models, endpoints, ...given }, _, { resolveAllowedModel, userPaths = () => [] }) {
    const paths = userPaths().map((path) => `${path}/`)
    const missing = endpoints?.find((entry) => !paths.some((path) => path.startsWith(`${entry}/`)))
    if (missing !== undefined) {
      const message = `There is no endpoint for users at or below ${missing}. Give paths as in the docs.`
      throw invalidParameterError('endpoints', message)
    }
    return {
      ...given,
      ...(expiresAt !== undefined && { expiresAt: parseFutureTime(expiresAt) }),
      ...(models && { models: models.map((name) => resolveAllowedModel?.(name) ?? refuseModel(name)) }),
      ...(endpoints && { endpoints }),
    }
  },
})

/** Name and restrictions of a key. */
export type KeyContent = Content<typeof keys.fields>

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

export const KeySchema = buildResource(keys).schemas.shown

export const keyId = buildIdSchema(keys)

/** Microseconds since 1970. */
export function creationRank({ createdAt }: { readonly createdAt: string }): number {
  return Date.parse(createdAt) * 1000 + Number(/\.\d{3}(\d{3})Z$/.exec(createdAt)?.[1] ?? 0)
}

/** Throws 400 unless the text is a time in the future. */
export function parseFutureTime(text: string): string {
  const time = parseTime(text)
  if (time !== undefined && Date.parse(time) > Date.now()) return time
  const example = 'an ISO 8601 time with a time zone, such as 2099-12-31T00:00:00Z'
  throw invalidParameterError('expires_at', `expires_at must be ${example}, in the future.`)
}

/** When a replaced key ends: not later than it would have. */
export function endOfOverlap(overlapSeconds: number, expiresAt: string | null | undefined): string {
  const end = new Date(Date.now() + overlapSeconds * 1000).toISOString().replace('Z', '000Z')
  return expiresAt && expiresAt < end ? expiresAt : end
}

function refuseModel(name: string): never {
  const advice = 'GET /v1/models lists them; for another one, give provider/name.'
  throw invalidParameterError('models', `The model ${name} is not in the catalogue. ${advice}`)
}
