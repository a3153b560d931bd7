import type { JsonObject, RecordedEvent } from '../../core/contract/index.ts'
import { showFields } from '../../core/resources/names.ts'
import { createBackgroundYield, mapInSlices } from '../../core/util/cooperative-yield.ts'
import { type Accounts, createAccounts } from '../../projections/accounts.ts'
import { type DomainEvent, EVENTS } from '../../projections/events/registry.ts'
import { evolveUserRules, isRuleEvent, type UserRules } from '../../projections/events/rules.ts'
import { createGroups, type Groups } from '../../projections/groups.ts'
import type { PastEvent } from '../../projections/past-events.ts'
import { createPolicies, type Policies } from '../../projections/policies.ts'
import { emptyUserRules } from '../../projections/user-rules.ts'
import type { RuleKinds } from '../rules/index.ts'

/** The kinds of subjects of a user whose changes are audited. */
export const AUDIT_SUBJECTS = ['routing', 'firewall', 'key', 'user'] as const

/** Kinds of subjects that belong to no user. */
export const SHARED_SUBJECTS = ['policy', 'group'] as const

const SUBJECTS: readonly string[] = [...AUDIT_SUBJECTS, ...SHARED_SUBJECTS]

/** One change to one subject. */
export interface AuditEntry {
  readonly record: RecordedEvent
  /** `unknown` for an event that only a newer version can decode. */
  readonly kind: string
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
  const revisions = new Map<AuditedObject['id'], number>()

  function toEntry({ event, record }: PastEvent): AuditEntry {
    if (event === undefined) return toUnknownEntry(record)
    const subject = findSubject(event)
    if (subject === undefined || !SUBJECTS.includes(subject.kind)) return toUnknownEntry(record)
    const { kind, id, change } = subject
    const before = captureSubject(subject, record.data.userId, state, kinds)
    evolveState(state, event, record)
    const after = captureSubject(subject, record.data.userId, state, kinds)
    const revision = (revisions.get(id) ?? 0) + 1
    revisions.set(id, revision)
    const revertedTo = 'revertedTo' in event.data ? event.data.revertedTo : undefined
    return { record, kind, id, event: change, revision, revertedTo, before, after }
  }

  return mapInSlices(events, toEntry, createBackgroundYield())
}

/** What was changed, and how. */
export interface AuditedObject {
  readonly kind: string
  readonly change: string
  /** Null if it has none. Ids of rules, users, groups and policies are numbers from the same sequence. */
  readonly id: number | string | null
}

/** Returns undefined for events that the audit trail does not show. */
export function findSubject(event: DomainEvent): AuditedObject | undefined {
  const subject = EVENTS.declarationOf(event).auditSubject(event.data)
  if (subject === undefined) return undefined
  const { kind, change, id: field = '' } = subject
  const id = (event.data as JsonObject)[field]
  return { kind, change, id: typeof id === 'number' || typeof id === 'string' ? id : null }
}

interface AuditedState {
  readonly rules: UserRules
  readonly accounts: Accounts
  readonly groups: Groups
  readonly policies: Policies
}

function evolveState(state: AuditedState, event: DomainEvent, record: RecordedEvent): void {
  if (isRuleEvent(event)) evolveUserRules(state.rules, event, record)
  for (const projection of [state.accounts, state.groups, state.policies]) projection.apply(event, record)
}

/**
 * Captures the current state of the event's subject. The returned function formats it, which costs more than
 * the look-up and is done for displayed entries only.
 */
function captureSubject(
  { kind, id }: AuditedObject,
  userId: unknown,
  { rules, accounts, groups, policies }: AuditedState,
  kinds: RuleKinds,
): () => JsonObject | null {
  const number = Number(id)
  switch (kind) {
    case 'routing':
      return formatLater(rules.routing.get(number), kinds.routing.show)
    case 'firewall':
      return formatLater(rules.firewall.get(number), kinds.firewall.show)
    case 'policy':
      return formatLater(policies.policy(number), showFields)
    case 'group':
      return formatLater(groups.group(number), showFields)
    case 'key':
      return formatLater(
        accounts.user(Number(userId))?.keys.find((key) => key.id === id),
        showFields,
      )
    default:
      return formatLater(accounts.user(number), ({ keys: _, ...user }) => showFields(user))
  }
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
