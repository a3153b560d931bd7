import type { Account, JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import { type DomainEvent, isRuleEvent } from '../../core/events/codec.ts'
import type { RuleEvent, UserEvent } from '../../core/events/domain-events.ts'
import type { CallerSnapshot } from '../../core/http/inference.ts'
import { type Accounts, createAccounts, type Key, type User } from '../../projections/accounts.ts'
import type { History, PastEvent } from '../../projections/history.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import { emptyUserRules, evolveUserRules, type UserRules } from '../../projections/user-rules.ts'
import type { RuleCommandSet } from '../rules/batch.ts'
import type { RuleServices } from '../rules/rule-commands.ts'
import type { RuleKinds } from './diff-rules.ts'

/** What can change. */
export const AUDIT_SUBJECTS = ['routing', 'firewall', 'key', 'user'] as const

type SubjectKind = (typeof AUDIT_SUBJECTS)[number]

/** One change, with what it was made to. */
export interface AuditEntry {
  readonly record: RecordedEvent
  /** `unknown` for what only a newer node can read. */
  readonly kind: SubjectKind | 'unknown'
  readonly id: number | string | null
  /** What happened, as a word; the event's type when it is unknown. */
  readonly event: string
  /** Counts the subject's own events from 1. */
  readonly revision: number
  readonly revertedTo: number | undefined
  /** The subject as the API shows it; null where there is none. */
  before(): JsonObject | null
  after(): JsonObject | null
}

type KnownEvent = RuleEvent | UserEvent

/** Every event of a user has its line here, or this does not compile: what is missing would not be audited. */
const WORDS: Readonly<Record<KnownEvent['type'], readonly [SubjectKind, string]>> = {
  UserCreated: ['user', 'created'],
  PlanChanged: ['user', 'plan_changed'],
  RequestLimitChanged: ['user', 'limit_changed'],
  KeyIssued: ['key', 'created'],
  KeyRevoked: ['key', 'revoked'],
  RoutingRuleCreated: ['routing', 'created'],
  RoutingRuleUpdated: ['routing', 'updated'],
  RoutingRuleDeleted: ['routing', 'deleted'],
  FirewallRuleCreated: ['firewall', 'created'],
  FirewallRuleUpdated: ['firewall', 'updated'],
  FirewallRuleDeleted: ['firewall', 'deleted'],
}

/** Describes a user's events one by one, oldest first; all of them are needed from the first on. */
export function toAuditEntries(events: readonly PastEvent[], kinds: RuleKinds): readonly AuditEntry[] {
  const book = emptyUserRules()
  const accounts = createAccounts()
  const revisions = new Map<number | string, number>()

  return events.map(({ event, record }) => {
    if (event === undefined || !isKnown(event)) return describeUnknown(record)
    const [kind, word] = WORDS[event.type]
    const id = subjectOf(event)
    const before = look(event, book, accounts, kinds)
    if (isRuleEvent(event)) evolveUserRules(book, event, record)
    else accounts.apply(event, record)
    const after = look(event, book, accounts, kinds)
    const revision = (revisions.get(id) ?? 0) + 1
    revisions.set(id, revision)
    const revertedTo = 'revertedTo' in event.data ? event.data.revertedTo : undefined
    return { record, kind, id, event: revertedTo ? 'reverted' : word, revision, revertedTo, before, after }
  })
}

function isKnown(event: DomainEvent): event is KnownEvent {
  return Object.hasOwn(WORDS, event.type)
}

/** Ids are unique over rules and users, and keys have theirs of another form. */
function subjectOf({ data }: KnownEvent): number | string {
  if ('ruleId' in data) return data.ruleId
  return 'keyId' in data ? data.keyId : data.userId
}

/** The event's subject as it is now, shown when somebody asks: that costs more than finding it. */
function look({ type, data }: KnownEvent, book: UserRules, accounts: Accounts, kinds: RuleKinds) {
  if ('ruleId' in data) {
    return WORDS[type][0] === 'routing'
      ? showing(book.routing.get(data.ruleId), kinds.routing.show)
      : showing(book.firewall.get(data.ruleId), kinds.firewall.show)
  }
  const user = accounts.user(data.userId)
  if (!('keyId' in data)) return showing(user, showUser)
  return showing(
    user?.keys.find((key) => key.id === data.keyId),
    showKey,
  )
}

function showing<Subject>(subject: Subject | undefined, show: (subject: Subject) => JsonObject) {
  return () => (subject === undefined ? null : show(subject))
}

function describeUnknown(record: RecordedEvent): AuditEntry {
  const nothing = () => null
  return {
    record,
    kind: 'unknown',
    id: null,
    event: record.type,
    revision: record.revision + 1,
    revertedTo: undefined,
    before: nothing,
    after: nothing,
  }
}

/** A user without the keys, which are shown by themselves. */
function showUser({ id, name, plan, requestsPerMinute, createdAt }: User): JsonObject {
  const limit = requestsPerMinute === undefined ? {} : { requests_per_minute: requestsPerMinute }
  return { id, name, plan, ...limit, created_at: createdAt }
}

/** A key without anything that could be used in its place. */
function showKey({ id, createdAt, revokedAt }: Key): JsonObject {
  return { id, created_at: createdAt, revoked_at: revokedAt }
}

/** What the audit plugin works with. */
export interface AuditServices extends RuleServices {
  readonly history: History
  readonly subscription: Subscription
  readonly kinds: RuleKinds
  readonly commands: RuleCommandSet
  /** The caller's account and rules as a request that comes now would have them. */
  snapshotCaller(account: Account): CallerSnapshot
}
