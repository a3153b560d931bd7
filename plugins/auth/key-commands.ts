import { type Author, type EventLog, GatewayError, StreamDamagedError } from '../../core/contract/index.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { newApiKey, newKeyId } from '../../core/util/ids.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import {
  type Key,
  type KeyTerms,
  REVOCATIONS_STREAM,
  type User,
  userStream,
} from '../../projections/events/users.ts'
import { readChange } from '../../projections/history.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { hashApiKey } from './api-key.ts'
import { requireUser } from './users.ts'

/** Name and restrictions of a new key. */
export interface NewKey extends KeyTerms {
  readonly name?: string
}

/** A key with its secret, which is not stored and cannot be retrieved again. */
export interface IssuedKey {
  readonly id: string
  readonly key: string
}

/**
 * Changes to keys. Each resolves when all processes of this node apply the change, and throws a
 * `GatewayError` with code `not_found` for an unknown user or key.
 */
export interface KeyCommands {
  /** `secret` is the key to issue, by default a new one. */
  issueKey(userId: number, author: Author, key?: NewKey, secret?: string): Promise<IssuedKey>
  /**
   * Issues a key with the name, restrictions and budget of another one, which is valid for `overlapSeconds`
   * more. Throws 409 for a key that is not valid.
   */
  rotateKey(
    keyId: string,
    rotation: Rotation,
    author: Author,
    secret?: string,
    check?: CheckKey,
  ): Promise<IssuedKey>
  /**
   * Returns the key that a request with an `Idempotency-Key` issued before. Throws 409 if it is another one.
   */
  issuedKey(change: AppliedChange, secret: string): Promise<IssuedKey>
  /** Does nothing if the key is already revoked. */
  revokeKey(keyId: string, author: Author, check?: CheckKey): Promise<void>
}

/** Throws if a change of the key is refused. */
type CheckKey = (key: Key) => void

export interface Rotation {
  readonly overlapSeconds: number
  /** When the new key expires. By default, when the replaced one does. */
  readonly expiresAt?: string
}

interface KeyCommandServices {
  readonly accounts: Accounts
  readonly writer: EventWriter
  readonly log: Pick<EventLog, 'read'>
}

export function createKeyCommands({ accounts, writer, log }: KeyCommandServices): KeyCommands {
  function requireOwner(keyId: string): User {
    const owner = accounts.ownerOfKey(keyId)
    if (owner === undefined) throw new GatewayError('not_found', `Key ${keyId} was not found.`)
    return owner
  }

  const findKey = (userId: number, keyId: string) =>
    requireUser(accounts, userId).keys.find(({ id }) => id === keyId)

  async function write(userId: number, decide: () => readonly DomainEvent[], author: Author): Promise<void> {
    const revision = () => accounts.user(userId)?.revision ?? -1
    await writer.write({ stream: userStream(userId), revision, decide }, author)
  }

  const commands: KeyCommands = {
    async issueKey(userId, author, key = {}, secret = newApiKey()) {
      const keyId = newKeyId()
      const decide = () => {
        requireUser(accounts, userId)
        return [issued({ userId, keyId, hash: hashApiKey(secret) }, key)]
      }
      await write(userId, decide, author)
      return { id: keyId, key: secret }
    },
    async rotateKey(replaces, { overlapSeconds, expiresAt }, author, secret = newApiKey(), check) {
      const { id: userId } = requireOwner(replaces)
      const keyId = newKeyId()
      const decide = (): readonly DomainEvent[] => {
        const old = requireValid(findKey(userId, replaces), replaces)
        check?.(old)
        const data = { userId, keyId, hash: hashApiKey(secret), replaces }
        const terms = { ...old, ...(expiresAt !== undefined && { expiresAt }) }
        return [
          issued(data, terms),
          ...(old.budget
            ? [{ type: 'BudgetSet' as const, data: { userId, keyId, budget: old.budget } }]
            : []),
          endKey(userId, old, overlapSeconds),
        ]
      }
      await write(userId, decide, author)
      return { id: keyId, key: secret }
    },
    async issuedKey(change, secret) {
      const [{ event } = {}] = await readChange(log, change)
      if (event?.type !== 'KeyIssued')
        throw new Error(`the events of stream ${change.stream} cannot be decoded`)
      const { hash, keyId } = event.data
      if (hash === hashApiKey(secret)) return { id: keyId, key: secret }
      const message =
        `The first request issued the key ${keyId}, which can only be shown again with the same ` +
        'operator key. Revoke it and issue another one with a new Idempotency-Key.'
      throw new GatewayError('conflict', message)
    },
    async revokeKey(keyId, author, check) {
      const { id: userId } = requireOwner(keyId)
      const decide = () => {
        const key = findKey(userId, keyId)
        if (key !== undefined) check?.(key)
        return key?.revokedAt === null ? [revoked(userId, keyId)] : []
      }
      try {
        await write(userId, decide, author)
      } catch (error) {
        if (!StreamDamagedError.isInstance(error)) throw error
        // At any revision: revoking a key twice has no further effect.
        await writer.write({ stream: REVOCATIONS_STREAM, decide }, author)
      }
    },
  }
  return {
    issueKey: (...args) => answerInTime(commands.issueKey(...args)),
    rotateKey: (...args) => answerInTime(commands.rotateKey(...args)),
    issuedKey: commands.issuedKey,
    revokeKey: (...args) => answerInTime(commands.revokeKey(...args)),
  }
}

/** The event that revokes a key. */
function revoked(userId: number, keyId: string): DomainEvent {
  return { type: 'KeyRevoked', data: { userId, keyId } }
}

function issued(
  identity: { userId: number; keyId: string; hash: string; replaces?: string },
  { name, expiresAt, models, endpoints }: NewKey,
): DomainEvent {
  const data = {
    ...identity,
    ...(name !== undefined && { name }),
    ...(expiresAt && { expiresAt }),
    ...(models && { models }),
    ...(endpoints && { endpoints }),
  }
  return { type: 'KeyIssued', data }
}

function requireValid(key: Key | undefined, keyId: string): Key {
  const isExpired = key?.expiresAt !== undefined && Date.parse(key.expiresAt) <= Date.now()
  if (key?.revokedAt === null && !isExpired) return key
  const problem = isExpired ? 'has expired' : 'is revoked'
  throw new GatewayError('conflict', `Key ${keyId} ${problem}. Issue another one instead.`)
}

/** The event that ends the validity of a replaced key. An earlier expiry stays. */
function endKey(userId: number, { id: keyId, expiresAt }: Key, overlapSeconds: number): DomainEvent {
  if (overlapSeconds === 0) return revoked(userId, keyId)
  const end = new Date(Date.now() + overlapSeconds * 1000).toISOString().replace('Z', '000Z')
  const isEarlier = expiresAt !== undefined && expiresAt < end
  return { type: 'KeyExpirySet', data: { userId, keyId, expiresAt: isEarlier ? expiresAt : end } }
}
