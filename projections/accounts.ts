import type { Account, Plan } from '../core/contract/index.ts'
import type { Budget } from './events/budgets.ts'
import { foldUser, type Key, pickLimits, type User } from './events/users.ts'
import type { SavedProjection } from './runtime/projection.ts'

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
      if (!foldUser.has(event)) return
      const { userId } = event.data
      const user = foldUser(users.get(userId), event, record)
      if (user !== undefined) put(user)
      else if (event.type === 'UserDeleted') remove(userId)
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

/** Whether the rules of a user with this plan apply. Policies apply on every plan. */
export function includesOwnRules(plan: Plan): boolean {
  return plan === 'paid'
}
