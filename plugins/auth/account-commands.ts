import {
  type Author,
  GatewayError,
  type Plan,
  type RequestLimit,
  StreamDamagedError,
} from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'
import { userStream } from '../../core/events/domain-events.ts'
import { REVOCATIONS_STREAM } from '../../core/events/well-formed.ts'
import { newApiKey, newKeyId } from '../../core/util/ids.ts'
import type { Accounts, User } from '../../projections/accounts.ts'
import type { IdSource } from '../../projections/ids.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
import { hashApiKey } from './authenticate.ts'

/** Without `plan`, the plan stays unchanged. Without `requestsPerMinute`, the limit of the plan applies. */
interface UserChange {
  readonly plan?: Plan
  readonly requestsPerMinute?: RequestLimit
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
  /** Returns the API key, which is not stored and cannot be retrieved again. */
  issueKey(userId: number, author: Author): Promise<{ id: string; key: string }>
  /** Does nothing if the key is already revoked. */
  revokeKey(keyId: string, author: Author): Promise<void>
}

export function createAccountCommands(
  accounts: Accounts,
  ids: IdSource,
  writer: EventWriter,
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
    await writer.write({ stream: userStream(userId), revision, decide }, author)
    return requireUser(userId)
  }

  const commands: AccountCommands = {
    async createUser(name, plan, author) {
      const userId = await ids.reserve(1, author)
      return writeUserEvents(userId, () => [{ type: 'UserCreated', data: { userId, name, plan } }], author)
    },
    async createFirstUser(name, plan, author) {
      const userId = await ids.reserveFirst(author)
      if (userId === undefined) return undefined
      return writeUserEvents(userId, () => [{ type: 'UserCreated', data: { userId, name, plan } }], author)
    },
    async changeUser(userId, change, author) {
      return writeUserEvents(userId, () => decideUserChange(requireUser(userId), change), author)
    },
    async issueKey(userId, author) {
      const id = newKeyId()
      const key = newApiKey()
      const decide = (): readonly DomainEvent[] => {
        requireUser(userId)
        return [{ type: 'KeyIssued', data: { userId, keyId: id, hash: hashApiKey(key) } }]
      }
      await writeUserEvents(userId, decide, author)
      return { id, key }
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
    revokeKey: (...args) => answerInTime(commands.revokeKey(...args)),
  }
}

/**
 * A change of the plan alone removes the user's own limit: see docs/decisions/limits.md, "Without a limit of
 * their own, users have the plan's".
 */
function decideUserChange(user: User, { plan, requestsPerMinute }: UserChange): readonly DomainEvent[] {
  const userId = user.id
  const events: DomainEvent[] = []
  if (plan !== undefined && plan !== user.plan) events.push({ type: 'PlanChanged', data: { userId, plan } })
  if (requestsPerMinute !== user.requestsPerMinute) {
    const limit = requestsPerMinute === undefined ? {} : { requestsPerMinute }
    events.push({ type: 'RequestLimitChanged', data: { userId, ...limit } })
  }
  return events
}
