import type { JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import type { RuleEvent } from '../../core/events/domain-events.ts'
import { showFields } from '../../core/resources/names.ts'
import { createBackgroundYield, mapInSlices } from '../../core/util/cooperative-yield.ts'
import { type Accounts, createAccounts } from '../../projections/accounts.ts'
import type { GroupEvent } from '../../projections/events/groups.ts'
import type { PolicyEvent } from '../../projections/events/policies.ts'
import { type DomainEvent, isRuleEvent } from '../../projections/events/registry.ts'
import type { UserEvent } from '../../projections/events/users.ts'
import { createGroups, type Groups } from '../../projections/groups.ts'
import type { PastEvent } from '../../projections/past-events.ts'
import { createPolicies, type Policies } from '../../projections/policies.ts'
import { emptyUserRules, evolveUserRules, type UserRules } from '../../projections/user-rules.ts'
import type { RuleKinds } from '../rules/diff-rules.ts'

/** The kinds of subjects of a user whose changes are audited. */
export const AUDIT_SUBJECTS = ['routing', 'firewall', 'key', 'user'] as const

/** Kinds of subjects that belong to no user. */
export const SHARED_SUBJECTS = ['policy', 'group'] as const

type SubjectKind = (typeof AUDIT_SUBJECTS)[number] | (typeof SHARED_SUBJECTS)[number]

/** One change to one subject. */
export interface AuditEntry {
  readonly record: RecordedEvent
  /** `unknown` for an event that only a newer version can decode. */
  readonly kind: SubjectKind | 'unknown'
  readonly id: number | string | null
  /** The kind of change; for an unknown event, its type. */
  readonly event: string
  /** Number of this event among those of the subject, starting at 1. */
  readonly revision: number
  readonly revertedTo: number | undefined
  /** The subject before the change, as the API shows it; null if it did not exist. */
  before(): JsonObject | null
  after(): JsonObject | null
}

export type AuditedEvent = RuleEvent | UserEvent | PolicyEvent | GroupEvent

/**
 * Lists every type of event about a user, a policy or a group. A missing type is a compile error, so no
 * change can go unaudited.
 */
const CHANGES: Readonly<Record<AuditedEvent['type'], readonly [SubjectKind, string]>> = {
  UserCreated: ['user', 'created'],
  UserAddedToGroup: ['user', 'added_to_group'],
  UserRemovedFromGroup: ['user', 'removed_from_group'],
  PlanChanged: ['user', 'plan_changed'],
  RequestLimitChanged: ['user', 'limit_changed'],
  TokenLimitChanged: ['user', 'limit_changed'],
  ConcurrencyLimitChanged: ['user', 'limit_changed'],
  BudgetSet: ['user', 'budget_set'],
  BudgetRemoved: ['user', 'budget_removed'],
  UserRenamed: ['user', 'renamed'],
  UserDeleted: ['user', 'deleted'],
  KeyIssued: ['key', 'created'],
  KeyExpirySet: ['key', 'expiry_set'],
  KeyRevoked: ['key', 'revoked'],
  PolicyCreated: ['policy', 'created'],
  PolicyUpdated: ['policy', 'updated'],
  PolicyDeleted: ['policy', 'deleted'],
  GroupCreated: ['group', 'created'],
  GroupUpdated: ['group', 'updated'],
  GroupDeleted: ['group', 'deleted'],
  GroupBudgetSet: ['group', 'budget_set'],
  GroupBudgetRemoved: ['group', 'budget_removed'],
  RoutingRuleCreated: ['routing', 'created'],
  RoutingRuleUpdated: ['routing', 'updated'],
  RoutingRuleDeleted: ['routing', 'deleted'],
  FirewallRuleCreated: ['firewall', 'created'],
  FirewallRuleUpdated: ['firewall', 'updated'],
  FirewallRuleDeleted: ['firewall', 'deleted'],
}

/** Entries of events that are still kept: pages of a trail are read one after the other. */
const converted = new WeakMap<
  readonly PastEvent[],
  { readonly kinds: RuleKinds; readonly entries: Promise<readonly AuditEntry[]> }
>()

/**
 * Converts the events of a user or a policy to audit entries, oldest first. Requires all of them, from the
 * first one on.
 */
export function toAuditEntries(
  events: readonly PastEvent[],
  kinds: RuleKinds,
): Promise<readonly AuditEntry[]> {
  const known = converted.get(events)
  if (known?.kinds === kinds) return known.entries
  const entries = convertEvents(events, kinds)
  converted.set(events, { kinds, entries })
  entries.catch(() => converted.delete(events))
  return entries
}

function convertEvents(events: readonly PastEvent[], kinds: RuleKinds): Promise<readonly AuditEntry[]> {
  const state: AuditedState = {
    rules: emptyUserRules(),
    accounts: createAccounts(),
    groups: createGroups(),
    policies: createPolicies(),
  }
  const revisions = new Map<number | string, number>()

  function toEntry({ event, record }: PastEvent): AuditEntry {
    if (event === undefined || !isAudited(event)) return toUnknownEntry(record)
    const [kind, change] = subjectOf(event)
    const id = subjectIdOf(event)
    const before = captureSubject(event, state, kinds)
    evolveState(state, event, record)
    const after = captureSubject(event, state, kinds)
    const revision = (revisions.get(id) ?? 0) + 1
    revisions.set(id, revision)
    const revertedTo = 'revertedTo' in event.data ? event.data.revertedTo : undefined
    return { record, kind, id, event: revertedTo ? 'reverted' : change, revision, revertedTo, before, after }
  }

  return mapInSlices(events, toEntry, createBackgroundYield())
}

/** Whether the event is about a user. */
export function isAudited(event: DomainEvent): event is AuditedEvent {
  return Object.hasOwn(CHANGES, event.type)
}

/** The kind of the subject, and of the change. A budget belongs to a user or to a key. */
export function subjectOf({ type, data }: AuditedEvent): readonly [SubjectKind, string] {
  const [kind, change] = CHANGES[type]
  return [kind === 'user' && 'keyId' in data ? 'key' : kind, change]
}

/**
 * Ids of rules, users, groups and policies are numbers from the same sequence, ids of keys are strings: no
 * two subjects share an id.
 */
export function subjectIdOf({ data }: AuditedEvent): number | string {
  if ('ruleId' in data) return data.ruleId
  if ('policyId' in data) return data.policyId
  if ('keyId' in data) return data.keyId ?? data.userId
  return 'userId' in data ? data.userId : data.groupId
}

interface AuditedState {
  readonly rules: UserRules
  readonly accounts: Accounts
  readonly groups: Groups
  readonly policies: Policies
}

function evolveState(state: AuditedState, event: AuditedEvent, record: RecordedEvent): void {
  if (isRuleEvent(event)) evolveUserRules(state.rules, event, record)
  for (const projection of [state.accounts, state.groups, state.policies]) projection.apply(event, record)
}

/**
 * Captures the current state of the event's subject. The returned function formats it, which costs more than
 * the look-up and is done for displayed entries only.
 */
function captureSubject(
  { type, data }: AuditedEvent,
  { rules, accounts, groups, policies }: AuditedState,
  kinds: RuleKinds,
): () => JsonObject | null {
  if ('ruleId' in data) {
    return CHANGES[type][0] === 'routing'
      ? formatLater(rules.routing.get(data.ruleId), kinds.routing.show)
      : formatLater(rules.firewall.get(data.ruleId), kinds.firewall.show)
  }
  if ('policyId' in data) return formatLater(policies.policy(data.policyId), showFields)
  if (!('userId' in data)) return formatLater(groups.group(data.groupId), showFields)
  const user = accounts.user(data.userId)
  if (!('keyId' in data)) return formatLater(user, ({ keys: _, ...shown }) => showFields(shown))
  const key = user?.keys.find(({ id }) => id === data.keyId)
  return formatLater(key, showFields)
}

function formatLater<Subject>(subject: Subject | undefined, format: (subject: Subject) => JsonObject) {
  return () => (subject === undefined ? null : format(subject))
}

function toUnknownEntry(record: RecordedEvent): AuditEntry {
  return {
    record,
    kind: 'unknown',
    id: null,
    event: record.type,
    revision: record.revision + 1,
    revertedTo: undefined,
    before: () => null,
    after: () => null,
  }
}
