import type { Account, Plan, Position, RecordedEvent, UserLimits } from '../core/contract/index.ts'
import { type KeyTerms, userStream } from '../core/events/domain-events.ts'
import type { Budget } from './events/budgets.ts'
import { type DomainEvent, isRuleEvent } from './events/registry.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** A user as administrators see it. `revision` is that of the user's stream. */
export interface User extends UserLimits {
  readonly id: number
  readonly name: string
  readonly plan: Plan
  readonly budget?: Budget
  readonly createdAt: string
  readonly keys: readonly Key[]
  readonly revision: number
  readonly position: Position
}

export interface Key extends KeyTerms {
  readonly id: string
  readonly name?: string
  readonly hash: string
  readonly budget?: Budget
  readonly createdAt: string
  readonly revokedAt: string | null
}

/** All users and keys, in memory. */
export interface Accounts extends SavedProjection {
  /** Calls `notify` with the id of each user that is deleted from now on. Returns an unsubscribe function. */
  onDeletion(notify: (userId: number) => void): () => void
  /** The account of a key, by the key's SHA-256 in hex; undefined for an unknown or revoked key. */
  byKeyHash(hash: string): Account | undefined
  user(id: number): User | undefined
  ownerOfKey(keyId: string): User | undefined
  budgetOfKey(keyId: string): Budget | undefined
  /** Sorted by id. */
  users(): readonly User[]
}

export function createAccounts(): Accounts {
  const deletionListeners = new Set<(userId: number) => void>()
  const users = new Map<number, User>()
  const accountsByHash = new Map<string, Account>()
  const ownersByKey = new Map<string, number>()
  const budgetsByKey = new Map<string, Budget>()

  function put(user: User): void {
    users.set(user.id, user)
    for (const key of user.keys) {
      ownersByKey.set(key.id, user.id)
      if (key.budget === undefined) budgetsByKey.delete(key.id)
      else budgetsByKey.set(key.id, key.budget)
      if (key.revokedAt === null) accountsByHash.set(key.hash, toAccount(user, key))
      else accountsByHash.delete(key.hash)
    }
  }

  /** Nothing of a deleted user is found any more, except in the log. */
  function remove(userId: number): void {
    for (const { id, hash } of users.get(userId)?.keys ?? []) {
      ownersByKey.delete(id)
      budgetsByKey.delete(id)
      accountsByHash.delete(hash)
    }
    users.delete(userId)
    for (const notify of deletionListeners) notify(userId)
  }

  return {
    name: 'accounts',
    apply(event, record) {
      if (isRuleEvent(event)) return
      if (event.type === 'UserDeleted') return remove(event.data.userId)
      const user = evolveUser(users.get(userIdOf(event)), event, record)
      if (user !== undefined) put(user)
    },
    onDeletion(notify) {
      deletionListeners.add(notify)
      return () => void deletionListeners.delete(notify)
    },
    byKeyHash: (hash) => accountsByHash.get(hash),
    user: (id) => users.get(id),
    ownerOfKey: (keyId) => users.get(ownersByKey.get(keyId) ?? 0),
    budgetOfKey: (keyId) => budgetsByKey.get(keyId),
    users: () => [...users.values()].sort((a, b) => a.id - b.id),
    save: () => serializeUsers([...users.values()]),
    load(lines) {
      for (const line of lines) put(JSON.parse(line.toString()))
    },
  }
}

/** Users are replaced, never modified, so the list is a snapshot of the state. */
function* serializeUsers(users: readonly User[]): Generator<string> {
  for (const user of users) yield JSON.stringify(user)
}

/** Returns the user after the event, undefined if the event does not concern a known user. */
function evolveUser(user: User | undefined, event: DomainEvent, record: RecordedEvent): User | undefined {
  const { revision, position } = record
  const { time } = record.metadata
  if (event.type === 'UserCreated') {
    const { userId, name, plan } = event.data
    return { id: userId, name, plan, createdAt: time, keys: [], revision, position }
  }
  if (user === undefined) return undefined
  switch (event.type) {
    case 'PlanChanged':
      return { ...user, revision, position, plan: event.data.plan }
    case 'RequestLimitChanged': {
      const { requestsPerMinute: _, ...rest } = user
      return { ...rest, revision, position, ...pickLimits(event.data) }
    }
    case 'TokenLimitChanged': {
      const { tokensPerMinute: _, ...rest } = user
      return { ...rest, revision, position, ...pickLimits(event.data) }
    }
    case 'ConcurrencyLimitChanged': {
      const { maxConcurrent: _, ...rest } = user
      return { ...rest, revision, position, ...pickLimits(event.data) }
    }
    case 'UserAddedToGroup':
    case 'UserRemovedFromGroup':
      return { ...user, revision, position }
    case 'BudgetSet':
    case 'BudgetRemoved':
      return { ...withBudget(user, event.data), revision, position }
    case 'UserRenamed':
      return { ...user, revision, position, name: event.data.name }
    case 'KeyIssued': {
      const { userId: _, keyId, ...issued } = event.data
      const key = { id: keyId, ...issued, createdAt: time, revokedAt: null }
      return { ...user, revision, position, keys: [...user.keys, key] }
    }
    case 'KeyExpirySet': {
      const { keyId, expiresAt } = event.data
      const keys = user.keys.map((key) => (key.id === keyId ? { ...key, expiresAt } : key))
      return { ...user, revision, position, keys }
    }
    case 'KeyRevoked': {
      const keys = user.keys.map((key) => (key.id === event.data.keyId ? { ...key, revokedAt: time } : key))
      const isOwnStream = record.stream === userStream(user.id)
      return { ...user, revision: isOwnStream ? revision : user.revision, position, keys }
    }
    default:
      return undefined
  }
}

function withBudget(user: User, { keyId, budget }: { keyId?: string; budget?: Budget }): User {
  const replace = <Owner extends { readonly budget?: Budget }>({ budget: _, ...owner }: Owner) => ({
    ...owner,
    ...(budget && { budget }),
  })
  if (keyId === undefined) return replace(user)
  return { ...user, keys: user.keys.map((key) => (key.id === keyId ? replace(key) : key)) }
}

/** Returns 0, which is no user's id, for events that are not about a user. */
function userIdOf(event: DomainEvent): number {
  return 'userId' in event.data ? event.data.userId : 0
}

/** The account of requests with a key. */
export function toAccount(user: User, key: Key): Account {
  const { id: userId, name, plan, position } = user
  const { expiresAt, models, endpoints } = key
  return {
    userId,
    name,
    plan,
    keyId: key.id,
    position,
    ...pickLimits(user),
    ...(expiresAt !== undefined && { keyExpiresAtMs: Date.parse(expiresAt) }),
    ...(models && { models }),
    ...(endpoints && { endpoints }),
  }
}

/** Omits the limits that the user does not have. */
function pickLimits({ requestsPerMinute, tokensPerMinute, maxConcurrent }: UserLimits): UserLimits {
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(maxConcurrent !== undefined && { maxConcurrent }),
  }
}

/** Whether the rules of a user with this plan apply. Policies apply on every plan. */
export function includesOwnRules(plan: Plan): boolean {
  return plan === 'paid'
}
