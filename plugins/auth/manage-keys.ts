import {
  type Author,
  GatewayError,
  type JsonObject,
  operator,
  type Static,
  Type,
} from '../../core/contract/index.ts'
import { anyRevision, parsePrecondition, preconditionHeaders } from '../../core/http/change-headers.ts'
import type { ResourceServices } from '../../core/resources/commands.ts'
import { manageResource, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { newApiKey, newKeyId } from '../../core/util/ids.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import type { Key } from '../../projections/events/users.ts'
import { hashApiKey } from './api-key.ts'
import { createKeyIssuer } from './issue-key.ts'
import {
  creationRank,
  endOfOverlap,
  type KeyContent,
  KeyRotation,
  type KeyServices,
  keys,
  parseFutureTime,
} from './keys.ts'
import { requireUser, userNotFoundError } from './users.ts'

export interface Rotation {
  readonly overlapSeconds: number
  /** When the new key expires. By default, when the replaced one does. */
  readonly expiresAt?: string
}

interface ManagedKeyServices extends ResourceServices, KeyServices {
  readonly accounts: Pick<Accounts, 'user' | 'ownerOfKey'>
}

/** Manages the keys of users, whose secrets are issued with them. */
export function manageKeys(services: ManagedKeyServices) {
  const { accounts } = services
  const state = {
    find: (id: string) => accounts.ownerOfKey(id)?.keys.find((key) => key.id === id),
    list: (userId: number) =>
      [...requireUser(accounts, userId).keys].sort((a, b) => creationRank(a) - creationRank(b)),
    parentOf: (id: string) => accounts.ownerOfKey(id)?.id,
    streamRevision: (userId: number | string) => requireUser(accounts, Number(userId)).revision,
  }
  const { commands, endpoints, parse, ...resource } = manageResource(keys, state, services)
  const { issueNew, endpoint } = createKeyIssuer<Key>({
    name: keys.name,
    title: 'IssuedApiKey',
    resource,
    commands,
    prefix: 'tr',
    create: newApiKey,
  })

  const issue = (userId: number, content: KeyContent, author: Author, key: string) =>
    commands.create(content, author, { hash: hashApiKey(key) }, userId)

  /**
   * Issues a key with the name, restrictions and budget of another one, which is valid for `overlapSeconds`
   * more. Throws 409 for a key that is not valid.
   */
  async function rotate(
    replaces: string,
    { overlapSeconds, expiresAt }: Rotation,
    author: Author,
    key: string,
    expected = anyRevision,
  ): Promise<Key> {
    commands.require(replaces)
    const userId = state.parentOf(replaces) ?? 0
    const keyId = newKeyId()
    const decide = (): readonly DomainEvent[] => {
      const old = requireValid(commands.require(replaces, expected))
      const { name, models, endpoints, budget } = old
      const end = expiresAt ?? old.expiresAt
      const terms = {
        ...(name !== undefined && { name }),
        ...(end && { expiresAt: end }),
        ...(models && { models }),
        ...(endpoints && { endpoints }),
      }
      return [
        { type: 'KeyIssued', data: { userId, keyId, hash: hashApiKey(key), replaces, ...terms } },
        ...(budget ? [{ type: 'BudgetSet' as const, data: { userId, keyId, budget } }] : []),
        endKey(userId, old, overlapSeconds),
      ]
    }
    const { after } = await commands.write(keyId, decide, author, userId)
    // The cast is safe: the first event issues it.
    return after as Key
  }

  // The casts are safe: parameters and bodies match the schemas.
  const createEndpoint = endpoint({
    ...endpoints.create,
    description: 'The key is returned only once.',
    body: Type.Optional(resource.schemas.input),
    errors: WRITE_ERRORS,
    check({ params, scope }) {
      const { id } = params as { id: number }
      if (scope?.hasUser(id) === false) throw userNotFoundError(id)
    },
    issue: ({ params, body = {} }, author, key) =>
      issue((params as { id: number }).id, parse(body as JsonObject, true), author, key),
  })
  const rotateEndpoint = endpoint({
    method: 'POST',
    path: `${keys.path}/{id}/rotate`,
    access: operator(keys.roles.write, 'filtered'),
    tags: [keys.tag],
    operationId: 'rotateKey',
    summary: 'Replaces an API key by a new one with the same name, restrictions and budget.',
    description: 'The replaced key stays valid for the overlap. The new key is returned only once.',
    params: { id: resource.schemas.id },
    headers: preconditionHeaders(keys.name, '*'),
    body: KeyRotation,
    examples: { day: { overlap_seconds: 86_400 } },
    errors: [...WRITE_ERRORS, 'revision_mismatch'],
    check({ params, scope }) {
      const { id } = params as { id: string }
      if (scope?.hasUser(state.parentOf(id) ?? 0) === false) throw resource.notFound(id)
    },
    issue({ params, body, headers }, author, key) {
      const { overlap_seconds: overlapSeconds, expires_at } = body as Static<typeof KeyRotation>
      const rotation = { overlapSeconds, ...(expires_at && { expiresAt: parseFutureTime(expires_at) }) }
      return rotate((params as { id: string }).id, rotation, author, key, parsePrecondition(headers))
    },
  })

  return {
    issue: (userId: number, author: Author, content: KeyContent = {}) =>
      issueNew((key) => issue(userId, content, author, key)),
    rotate: (id: string, rotation: Rotation, author: Author) =>
      issueNew((key) => rotate(id, rotation, author, key)),
    revoke: (id: string, author: Author) => commands.delete(id, anyRevision, author),
    endpoints: [...Object.values({ ...endpoints, create: createEndpoint }), rotateEndpoint],
  }
}

function requireValid(key: Key): Key {
  const isExpired = key.expiresAt !== undefined && Date.parse(key.expiresAt) <= Date.now()
  if (key.revokedAt === null && !isExpired) return key
  const problem = isExpired ? 'has expired' : 'is revoked'
  throw new GatewayError('conflict', `Key ${key.id} ${problem}. Issue another one instead.`)
}

/** The event that ends the validity of a replaced key. An earlier expiry stays. */
function endKey(userId: number, { id: keyId, expiresAt }: Key, overlapSeconds: number): DomainEvent {
  if (overlapSeconds === 0) return { type: 'KeyRevoked', data: { userId, keyId } }
  return { type: 'KeyExpirySet', data: { userId, keyId, expiresAt: endOfOverlap(overlapSeconds, expiresAt) } }
}
