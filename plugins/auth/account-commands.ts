import {
  type Author,
  type EventLog,
  GatewayError,
  type Plan,
  type Position,
  StreamDamagedError,
  type UserLimits,
} from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'
import { userStream } from '../../core/events/domain-events.ts'
import { REVOCATIONS_STREAM } from '../../core/events/well-formed.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { newApiKey, newKeyId } from '../../core/util/ids.ts'
import type { Accounts, User } from '../../projections/accounts.ts'
import { readChange, readUserAt } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
import { hashApiKey } from './authenticate.ts'

/** Without `plan`, the plan stays unchanged. Limits that are missing are those of the plan. */
interface UserChange extends UserLimits {
  readonly plan?: Plan
}

/**
 * Changes to users and keys. Each resolves when the projections of this node include the change, and throws a
 * `GatewayError` with code `not_found` for an unknown user or key.
 */
export interface AccountCommands {
  createUser(name: string, plan: Plan, author: Author): Promise<User>
  /**
   * Creates a user with the first id of the log. Resolves with undefined if an id was assigned before: of
   * several gateways that start on an empty log, one creates the user.
   */
  createFirstUser(name: string, plan: Plan, author: Author): Promise<User | undefined>
  changeUser(userId: number, change: UserChange, author: Author): Promise<User>
  /** Issues an API key, which is not stored and cannot be retrieved again. */
  issueKey(userId: number, author: Author, key?: string): Promise<{ id: string; key: string }>
  /** Returns the user that a request with an `Idempotency-Key` created before, as it was then. */
  createdUser(change: AppliedChange): Promise<User>
  /**
   * Returns the key that a request with an `Idempotency-Key` issued before. Throws 409 if it is another one.
   */
  issuedKey(change: AppliedChange, key: string): Promise<{ id: string; key: string }>
  /** Does nothing if the key is already revoked. */
  revokeKey(keyId: string, author: Author): Promise<void>
}

export function createAccountCommands(
  accounts: Accounts,
  ids: IdSource,
  writer: EventWriter,
  log: Pick<EventLog, 'read'>,
): AccountCommands {
  function requireUser(userId: number): User {
    const user = accounts.user(userId)
    if (user === undefined) throw new GatewayError('not_found', `User ${userId} was not found.`)
    return user
  }

  async function writeUserEvents(
    userId: number,
    decide: () => readonly DomainEvent[],
    author: Author,
  ): Promise<User> {
    const revision = () => accounts.user(userId)?.revision ?? -1
    const appended = await writer.write({ stream: userStream(userId), revision, decide }, author)
    return userAfter(userId, appended?.position)
  }

  function createUserWithId(userId: number, name: string, plan: Plan, author: Author): Promise<User> {
    return writeUserEvents(userId, () => [{ type: 'UserCreated', data: { userId, name, plan } }], author)
  }

  /** The user right after the event at `position`: another request may have changed the user again. */
  async function userAfter(userId: number, position?: Position): Promise<User> {
    const user = requireUser(userId)
    if (position === undefined || user.position <= position) return user
    return (await readUserAt(log, userId, position)) ?? user
  }

  async function readFirstEvent(change: AppliedChange) {
    const [first] = await readChange(log, change)
    if (first?.event !== undefined) return { event: first.event, position: first.record.position }
    throw new Error(`the events of stream ${change.stream} cannot be decoded`)
  }

  const commands: AccountCommands = {
    async createUser(name, plan, author) {
      return createUserWithId(await ids.reserve(1, author), name, plan, author)
    },
    async createFirstUser(name, plan, author) {
      const userId = await ids.reserveFirst(author)
      return userId === undefined ? undefined : createUserWithId(userId, name, plan, author)
    },
    async changeUser(userId, change, author) {
      return writeUserEvents(userId, () => decideUserChange(requireUser(userId), change), author)
    },
    async issueKey(userId, author, key = newApiKey()) {
      const id = newKeyId()
      const decide = (): readonly DomainEvent[] => {
        requireUser(userId)
        return [{ type: 'KeyIssued', data: { userId, keyId: id, hash: hashApiKey(key) } }]
      }
      await writeUserEvents(userId, decide, author)
      return { id, key }
    },
    async createdUser(change) {
      const { event, position } = await readFirstEvent(change)
      return userAfter(event.type === 'UserCreated' ? event.data.userId : 0, position)
    },
    async issuedKey(change, key) {
      const { event } = await readFirstEvent(change)
      const issued = event.type === 'KeyIssued' ? event.data : undefined
      if (issued?.hash === hashApiKey(key)) return { id: issued.keyId, key }
      const message =
        `The first request issued the key ${issued?.keyId}, which can only be shown again with the same ` +
        'admin key. Revoke it and issue another one with a new Idempotency-Key.'
      throw new GatewayError('conflict', message)
    },
    async revokeKey(keyId, author) {
      const owner = accounts.ownerOfKey(keyId)
      if (owner === undefined) throw new GatewayError('not_found', `Key ${keyId} was not found.`)
      const isActive = () =>
        requireUser(owner.id).keys.some((key) => key.id === keyId && key.revokedAt === null)
      const decide = (): readonly DomainEvent[] =>
        isActive() ? [{ type: 'KeyRevoked', data: { userId: owner.id, keyId } }] : []
      try {
        await writeUserEvents(owner.id, decide, author)
      } catch (error) {
        if (!StreamDamagedError.isInstance(error)) throw error
        // At any revision: revoking a key twice has no further effect.
        await writer.write({ stream: REVOCATIONS_STREAM, decide }, author)
      }
    },
  }
  return {
    createUser: (...args) => answerInTime(commands.createUser(...args)),
    createFirstUser: (...args) => answerInTime(commands.createFirstUser(...args)),
    changeUser: (...args) => answerInTime(commands.changeUser(...args)),
    issueKey: (...args) => answerInTime(commands.issueKey(...args)),
    createdUser: commands.createdUser,
    issuedKey: commands.issuedKey,
    revokeKey: (...args) => answerInTime(commands.revokeKey(...args)),
  }
}

/**
 * A change of the plan alone removes the user's own limit: see docs/decisions/limits.md, "Without a limit of
 * their own, users have the plan's".
 */
function decideUserChange(user: User, change: UserChange): readonly DomainEvent[] {
  const userId = user.id
  const { plan, requestsPerMinute, tokensPerMinute, maxConcurrent } = change
  const events: DomainEvent[] = []
  if (plan !== undefined && plan !== user.plan) events.push({ type: 'PlanChanged', data: { userId, plan } })
  if (requestsPerMinute !== user.requestsPerMinute) {
    const limit = requestsPerMinute === undefined ? {} : { requestsPerMinute }
    events.push({ type: 'RequestLimitChanged', data: { userId, ...limit } })
  }
  if (tokensPerMinute !== user.tokensPerMinute) {
    const limit = tokensPerMinute === undefined ? {} : { tokensPerMinute }
    events.push({ type: 'TokenLimitChanged', data: { userId, ...limit } })
  }
  if (maxConcurrent !== user.maxConcurrent) {
    const limit = maxConcurrent === undefined ? {} : { maxConcurrent }
    events.push({ type: 'ConcurrencyLimitChanged', data: { userId, ...limit } })
  }
  return events
}
