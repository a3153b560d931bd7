import type { Author, EventLog, Plan, Position, UserLimits } from '../../core/contract/index.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { type User, userStream } from '../../projections/events/users.ts'
import { readChange, readUserAt } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { createKeyCommands, type KeyCommands, revoked } from './key-commands.ts'
import { requireUser } from './require-user.ts'

/**
 * Without `name` and `plan`, they stay unchanged. Limits that are missing are those of the plan, except in a
 * change of the name alone.
 */
interface UserChange extends UserLimits {
  readonly name?: string
  readonly plan?: Plan
}

/**
 * Changes to users. Each resolves when the projections of this node include the change, and throws a
 * `GatewayError` with code `not_found` for an unknown user.
 */
export interface UserCommands {
  createUser(name: string, plan: Plan, author: Author): Promise<User>
  /**
   * Creates a user with the first id of the log. Resolves with undefined if an id was assigned before: of
   * several gateways that start on an empty log, one creates the user.
   */
  createFirstUser(name: string, plan: Plan, author: Author): Promise<User | undefined>
  /** `check` may refuse the change of the user as it is then. */
  changeUser(userId: number, change: UserChange, author: Author, check?: CheckUser): Promise<User>
  /** Deletes the user and revokes all keys. What is in the log and in the ledger stays. */
  deleteUser(userId: number, author: Author, check?: CheckUser): Promise<void>
  /** Returns the user that a request with an `Idempotency-Key` created before, as it was then. */
  createdUser(change: AppliedChange): Promise<User>
}

/** Throws if a change of the user is refused. */
type CheckUser = (user: User) => void

/** Changes to users and their keys. */
export type AccountCommands = UserCommands & KeyCommands

export function createAccountCommands(
  accounts: Accounts,
  ids: IdSource,
  writer: EventWriter,
  log: Pick<EventLog, 'read'>,
): AccountCommands {
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
    const user = requireUser(accounts, userId)
    if (position === undefined || user.position <= position) return user
    return (await readUserAt(log, userId, position)) ?? user
  }

  async function readFirstEvent(change: AppliedChange) {
    const [first] = await readChange(log, change)
    if (first?.event !== undefined) return { event: first.event, position: first.record.position }
    throw new Error(`the events of stream ${change.stream} cannot be decoded`)
  }

  const commands: UserCommands = {
    async createUser(name, plan, author) {
      return createUserWithId(await ids.reserve(1, author), name, plan, author)
    },
    async createFirstUser(name, plan, author) {
      const userId = await ids.reserveFirst(author)
      return userId === undefined ? undefined : createUserWithId(userId, name, plan, author)
    },
    async changeUser(userId, change, author, check) {
      const decide = () => {
        const user = requireUser(accounts, userId)
        check?.(user)
        return decideUserChange(user, change)
      }
      return writeUserEvents(userId, decide, author)
    },
    async createdUser(change) {
      const { event, position } = await readFirstEvent(change)
      return userAfter(event.type === 'UserCreated' ? event.data.userId : 0, position)
    },
    async deleteUser(userId, author, check) {
      const decide = (): readonly DomainEvent[] => {
        const user = requireUser(accounts, userId)
        check?.(user)
        const active = user.keys.filter(({ revokedAt }) => revokedAt === null)
        // Versions that do not know the deletion know that the keys are revoked.
        const revocations = active.map(({ id: keyId }) => revoked(userId, keyId))
        return [...revocations, { type: 'UserDeleted', data: { userId } }]
      }
      const revision = () => accounts.user(userId)?.revision ?? -1
      await writer.write({ stream: userStream(userId), revision, decide }, author)
    },
  }
  return {
    createUser: (...args) => answerInTime(commands.createUser(...args)),
    createFirstUser: (...args) => answerInTime(commands.createFirstUser(...args)),
    changeUser: (...args) => answerInTime(commands.changeUser(...args)),
    deleteUser: (...args) => answerInTime(commands.deleteUser(...args)),
    createdUser: commands.createdUser,
    ...createKeyCommands(accounts, writer, log),
  }
}

/**
 * A change of the plan alone removes the user's own limit: see docs/decisions/limits.md, "Without a limit of
 * their own, users have the plan's".
 */
function decideUserChange(user: User, change: UserChange): readonly DomainEvent[] {
  const userId = user.id
  const { name, plan, requestsPerMinute, tokensPerMinute, maxConcurrent } = change
  const events: DomainEvent[] = []
  if (name !== undefined && name !== user.name) events.push({ type: 'UserRenamed', data: { userId, name } })
  if (Object.keys(change).join() === 'name') return events
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
