import {
  PLANS,
  type Plan,
  type RequestLimit,
  type Static,
  StringEnum,
  Type,
  type UserLimits,
} from '../../core/contract/index.ts'
import {
  createFold,
  type DeclaredEvent,
  defineEvent,
  type EventEntry,
  type EventOf,
  Id,
  streamCategory,
  Texts,
  Time,
} from '../../core/events/define-event.ts'
import { type Budget, BudgetData } from './budgets.ts'

/** The stream of a user, their keys, and their memberships in groups. */
export const userStream = streamCategory('user-', 'userId')

/**
 * Revocations of keys whose user's stream cannot be written. See docs/decisions/event-log.md, "A key can be
 * revoked whatever state its user's stream is in".
 */
export const REVOCATIONS_STREAM = 'revocations'

/** A user as administrators see it. `revision` is that of the user's stream. */
export interface User extends UserLimits {
  readonly id: number
  readonly name: string
  readonly plan: Plan
  readonly budget?: Budget
  readonly createdAt: string
  readonly keys: readonly Key[]
  /** The groups that the user was added to, whether they still exist or not. */
  readonly groups: readonly number[]
  readonly revision: number
  readonly position: number
}

/** Only the SHA-256 of a key is stored. */
export interface Key extends KeyTerms {
  readonly id: string
  readonly name?: string
  readonly hash: string
  readonly budget?: Budget
  readonly createdAt: string
  readonly revokedAt: string | null
}

const keyTerms = Type.Object({
  expiresAt: Type.Optional(Time),
  models: Type.Optional(Texts),
  endpoints: Type.Optional(Texts),
})

/** The restrictions of a key. */
type KeyTerms = Readonly<Static<typeof keyTerms>>

const issuedKey = Type.Object({
  userId: Id,
  keyId: Type.String(),
  hash: Type.String(),
  name: Type.Optional(Type.String()),
  /** Id of the key whose rotation issued this one. */
  replaces: Type.Optional(Type.String()),
  ...keyTerms.properties,
})

/** As `RequestLimit`. */
const Limit = Type.Optional(Type.Unsafe<RequestLimit>({ type: ['number', 'null'] }))

const membership = Type.Object({
  userId: Id,
  groupId: Id,
  /** When the token was issued that says so, in seconds since 1970. */
  issuedAt: Type.Optional(Type.Number()),
})

const ofUser = <const Change extends string>(change: Change) =>
  ({ kind: 'user', change, id: 'userId' }) as const

const ofKey = <const Change extends string>(change: Change) => ({ kind: 'key', change, id: 'keyId' }) as const

export const userEvents = [
  defineEvent({
    type: 'UserCreated',
    schema: Type.Object({ userId: Id, name: Type.String(), plan: StringEnum(PLANS) }),
    stream: userStream,
    audit: ofUser('created'),
    assigns: ({ userId }) => userId,
    create({ userId: id, name, plan }, { metadata, revision, position }): User {
      return { id, name, plan, createdAt: metadata.time, keys: [], groups: [], revision, position }
    },
  }),
  defineEvent({
    type: 'UserRenamed',
    schema: Type.Object({ userId: Id, name: Type.String() }),
    stream: userStream,
    audit: ofUser('renamed'),
    fold: (user: User, { name }, entry) => change(user, entry, { name }),
  }),
  defineEvent({
    type: 'PlanChanged',
    schema: Type.Object({ userId: Id, plan: StringEnum(PLANS) }),
    stream: userStream,
    audit: ofUser('plan_changed'),
    fold: (user: User, { plan }, entry) => change(user, entry, { plan }),
  }),
  defineEvent({
    type: 'RequestLimitChanged',
    schema: Type.Object({ userId: Id, requestsPerMinute: Limit }),
    stream: userStream,
    audit: ofUser('limit_changed'),
    fold: ({ requestsPerMinute: _, ...user }: User, data, entry) => change(user, entry, pickLimits(data)),
  }),
  defineEvent({
    type: 'TokenLimitChanged',
    schema: Type.Object({ userId: Id, tokensPerMinute: Limit }),
    stream: userStream,
    audit: ofUser('limit_changed'),
    fold: ({ tokensPerMinute: _, ...user }: User, data, entry) => change(user, entry, pickLimits(data)),
  }),
  defineEvent({
    type: 'ConcurrencyLimitChanged',
    schema: Type.Object({ userId: Id, maxConcurrent: Limit }),
    stream: userStream,
    audit: ofUser('limit_changed'),
    fold: ({ maxConcurrent: _, ...user }: User, data, entry) => change(user, entry, pickLimits(data)),
  }),
  defineEvent({
    type: 'ToolCallLimitChanged',
    schema: Type.Object({ userId: Id, toolCallsPerMinute: Limit }),
    stream: userStream,
    audit: ofUser('limit_changed'),
    fold: ({ toolCallsPerMinute: _, ...user }: User, data, entry) => change(user, entry, pickLimits(data)),
  }),
  defineEvent({
    type: 'BudgetSet',
    schema: Type.Object({ userId: Id, keyId: Type.Optional(Type.String()), budget: BudgetData }),
    stream: userStream,
    audit: ({ keyId }) => (keyId === undefined ? ofUser('budget_set') : ofKey('budget_set')),
    fold: (user: User, { keyId, budget }, entry) => change(withBudget(user, keyId, budget), entry),
  }),
  defineEvent({
    type: 'BudgetRemoved',
    schema: Type.Object({ userId: Id, keyId: Type.Optional(Type.String()) }),
    stream: userStream,
    audit: ({ keyId }) => (keyId === undefined ? ofUser('budget_removed') : ofKey('budget_removed')),
    fold: (user: User, { keyId }, entry) => change(withBudget(user, keyId), entry),
  }),
  defineEvent({
    type: 'UserAddedToGroup',
    schema: membership,
    stream: userStream,
    audit: ofUser('added_to_group'),
    fold: (user: User, { groupId }, entry) => change(user, entry, { groups: [...user.groups, groupId] }),
  }),
  defineEvent({
    type: 'UserRemovedFromGroup',
    schema: membership,
    stream: userStream,
    audit: ofUser('removed_from_group'),
    fold: (user: User, { groupId }, entry) =>
      change(user, entry, { groups: user.groups.filter((id) => id !== groupId) }),
  }),
  defineEvent({
    type: 'UserDeleted',
    schema: Type.Object({ userId: Id }),
    stream: userStream,
    audit: ofUser('deleted'),
    isUrgent: true,
    fold: () => undefined,
  }),
  defineEvent({
    type: 'KeyIssued',
    schema: issuedKey,
    stream: userStream,
    audit: ofKey('created'),
    fold(user: User, { userId: _, keyId: id, ...issued }, entry) {
      const key = { id, ...issued, createdAt: entry.metadata.time, revokedAt: null }
      return change(user, entry, { keys: [...user.keys, key] })
    },
  }),
  defineEvent({
    type: 'KeyExpirySet',
    schema: Type.Object({ userId: Id, keyId: Type.String(), expiresAt: Time }),
    stream: userStream,
    audit: ofKey('expiry_set'),
    fold: (user: User, { keyId, expiresAt }, entry) => change(withKey(user, keyId, { expiresAt }), entry),
  }),
  defineEvent({
    type: 'KeyRevoked',
    schema: Type.Object({ userId: Id, keyId: Type.String() }),
    stream: [userStream, REVOCATIONS_STREAM],
    audit: ofKey('revoked'),
    isUrgent: true,
    fold(user: User, { keyId }, entry) {
      const revoked = change(withKey(user, keyId, { revokedAt: entry.metadata.time }), entry)
      return entry.stream === REVOCATIONS_STREAM ? { ...revoked, revision: user.revision } : revoked
    },
  }),
] as const

function change(user: User, { revision, position }: EventEntry, changes: Partial<User> = {}): User {
  return { ...user, revision, position, ...changes }
}

/** Omits the limits that the user does not have. */
export function pickLimits(limits: UserLimits): UserLimits {
  const { requestsPerMinute, tokensPerMinute, maxConcurrent, toolCallsPerMinute } = limits
  return {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(maxConcurrent !== undefined && { maxConcurrent }),
    ...(toolCallsPerMinute !== undefined && { toolCallsPerMinute }),
  }
}

function withKey(user: User, keyId: string, changes: Partial<Key>): User {
  return { ...user, keys: user.keys.map((key) => (key.id === keyId ? { ...key, ...changes } : key)) }
}

/** Without a `keyId`, the budget is the user's. */
function withBudget(user: User, keyId: string | undefined, budget?: Budget): User {
  const replace = <Owner extends { readonly budget?: Budget }>({ budget: _, ...owner }: Owner) => ({
    ...owner,
    ...(budget && { budget }),
  })
  if (keyId === undefined) return replace(user)
  return { ...user, keys: user.keys.map((key) => (key.id === keyId ? replace(key) : key)) }
}

export type UserEvent = EventOf<typeof userEvents>

export const foldUser = createFold<UserEvent, User>(userEvents)

/** The events of a user that are about a key. */
type KeyEvent = Extract<UserEvent, { data: { keyId?: string } }>

/** What the events of a key do not depend on. */
const NOBODY = { id: 0, name: '', plan: 'free', createdAt: '', groups: [], revision: 0, position: 0 } as const

/** Folds the events of one key. */
export const foldKey = Object.assign(
  (before: Key | undefined, event: KeyEvent, entry: EventEntry) =>
    foldUser({ ...NOBODY, keys: before ? [before] : [] }, event, entry)?.keys.at(-1),
  { has: (event: DeclaredEvent): event is KeyEvent => foldUser.has(event) && 'keyId' in event.data },
)
