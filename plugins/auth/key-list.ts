import {
  type Endpoint,
  endpoint,
  type JsonObject,
  type OperatorScope,
  operator,
  StringEnum,
  Type,
  user,
  type Warning,
} from '../../core/contract/index.ts'
import { decodeTextCursor, encodeCursor, PAGE } from '../../core/http/pages.ts'
import { Count, NextCursor, pageQuery, WarningSchema } from '../../core/http/schemas.ts'
import { showValue } from '../../core/resources/names.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Key, User } from '../../projections/events/users.ts'
import { KeySchema, type KeyServices, LAST_USE_UNAVAILABLE, readLastUse } from './keys.ts'

const KEY_STATES = ['active', 'expired', 'revoked'] as const

type KeyState = (typeof KEY_STATES)[number]

const state = StringEnum(KEY_STATES, { description: 'Whether the key is valid, and if not, why.' })

const OwnedKey = Type.Object(
  {
    ...KeySchema.properties,
    state,
    user_id: Count('Id of the user whose key it is.'),
    user_name: Type.String({ description: 'Name of the user.' }),
  },
  { $id: 'OwnedApiKey', description: 'A key without its secret, and whose it is.' },
)

const OwnedKeyPage = Type.Object(
  {
    data: Type.Array(OwnedKey, { description: 'The keys, by user, oldest first.' }),
    next_cursor: NextCursor,
    warnings: Type.Optional(Type.Array(WarningSchema, { description: 'What could not be read.' })),
  },
  { $id: 'OwnedApiKeyPage', description: 'A page of keys.' },
)

const page = pageQuery(PAGE, encodeCursor('key', '7.0'))

const ownQuery = { ...page, state: Type.Optional(state) }

const query = {
  ...page,
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      description:
        'A part of the name of the key or of its user, whose case is ignored, or the id of the key.',
      examples: ['batch'],
    }),
  ),
  user: Type.Optional(
    Type.Integer({
      minimum: 1,
      format: 'int64',
      description: 'Only keys of the user with this id.',
      examples: [7],
    }),
  ),
  state: Type.Optional(state),
}

interface KeyFilter {
  readonly q?: string
  readonly user?: number
  readonly state?: KeyState
}

/** A key, and where it is among those of its user. */
interface OwnedKey {
  readonly user: User
  readonly key: Key
  readonly index: number
}

interface KeyListServices extends Pick<KeyServices, 'lastUse'> {
  readonly accounts: Pick<Accounts, 'user' | 'users'>
}

/** `GET /admin/keys`: the keys of all users. `GET /v1/keys`: those of the user who asks. */
export function createKeyListEndpoints({ accounts, lastUse }: KeyListServices): readonly Endpoint[] {
  /** By user, so that keys that are issued meanwhile do not shift the pages. */
  function* find(filter: KeyFilter, cursor: string | undefined, scope: OperatorScope | undefined) {
    const after = cursor === undefined ? ['', '0', '-1'] : decodeTextCursor('key', cursor, CURSOR)
    const [afterUser, afterIndex] = [Number(after[1]), Number(after[2])]
    const owners = filter.user === undefined ? accounts.users() : [accounts.user(filter.user)]
    for (const user of owners) {
      if (user === undefined || user.id < afterUser || scope?.hasUser(user.id) === false) continue
      for (const [index, key] of user.keys.entries()) {
        const isAfter = user.id > afterUser || index > afterIndex
        if (isAfter && matches(user, key, filter)) yield { user, key, index }
      }
    }
  }

  type Page = KeyFilter & { readonly limit?: number; readonly cursor?: string }

  async function respond({ limit = PAGE.default, cursor, ...filter }: Page, scope?: OperatorScope) {
    const found = takeFirst(find(filter, cursor, scope), limit + 1)
    const page = found.slice(0, limit)
    const last = found.length > limit ? page.at(-1) : undefined
    const next_cursor = last === undefined ? null : encodeCursor('key', `${last.user.id}.${last.index}`)
    const uses = await readUses(page)
    const data = page.map((owned) => ({ ...showOwnedKey(owned), ...uses.read?.(owned.key) }))
    return { status: 200, body: { data, next_cursor, ...(uses.warnings && { warnings: uses.warnings }) } }
  }

  const common = {
    method: 'GET',
    responses: { 200: { description: 'A page of keys.', body: OwnedKeyPage } },
  } as const

  return [
    endpoint({
      ...common,
      path: '/admin/keys',
      access: operator('auditor', 'filtered'),
      operationId: 'listAllKeys',
      summary: 'Lists the keys of all users, in pages, and when they were last used.',
      tags: ['admin'],
      query,
      handle: ({ query, scope }) => respond(query, scope),
    }),
    endpoint({
      ...common,
      path: '/v1/keys',
      access: user(),
      operationId: 'listOwnKeys',
      summary: 'Lists your API keys without their secrets, in pages, and when they were last used.',
      tags: ['inference'],
      query: ownQuery,
      handle: ({ query, account }) => respond({ ...query, user: account.userId }),
    }),
  ]

  async function readUses(page: readonly OwnedKey[]): Promise<{
    readonly read?: (key: Key) => JsonObject
    readonly warnings?: readonly Warning[]
  }> {
    const ids = page.map(({ key }) => key.id)
    return readLastUse(ids, { lastUse }).then(
      (read) => ({ read }),
      () => ({ warnings: [LAST_USE_UNAVAILABLE] }),
    )
  }
}

const CURSOR = /^(\d{1,15})\.(\d{1,9})$/

function takeFirst<Item>(items: Iterable<Item>, count: number): readonly Item[] {
  const taken: Item[] = []
  for (const item of items) {
    taken.push(item)
    if (taken.length === count) break
  }
  return taken
}

function matches({ name: userName }: User, key: Key, { q = '', state }: KeyFilter): boolean {
  if (state !== undefined && stateOfKey(key) !== state) return false
  if (q === '' || key.id === q) return true
  const text = q.toLowerCase()
  return userName.toLowerCase().includes(text) || (key.name?.toLowerCase().includes(text) ?? false)
}

function showOwnedKey({ user, key }: OwnedKey): JsonObject {
  const owner = { state: stateOfKey(key), userId: user.id, userName: user.name }
  // The cast is safe: the schema is that of an object.
  return showValue({ ...key, ...owner }, OwnedKey) as JsonObject
}

export function stateOfKey({ revokedAt, expiresAt }: Pick<Key, 'revokedAt' | 'expiresAt'>): KeyState {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== undefined && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active'
}
