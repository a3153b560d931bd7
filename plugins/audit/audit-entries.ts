import type {
  EventLog,
  JsonObject,
  Position,
  RecordedEvent,
  Rule,
  Static,
  TObject,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import { showChange, showRecord } from '../../core/resources/changes.ts'
import { showFields } from '../../core/resources/names.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createBackgroundYield, mapInSlices } from '../../core/util/cooperative-yield.ts'
import { type Accounts, createAccounts } from '../../projections/accounts.ts'
import type { Budget } from '../../projections/events/budgets.ts'
import { type DomainEvent, decodeEvent, EVENTS } from '../../projections/events/registry.ts'
import { evolveUserRules, isRuleEvent, type UserRules } from '../../projections/events/rules.ts'
import { createGroups, type Groups } from '../../projections/groups.ts'
import type { History } from '../../projections/history.ts'
import { type PastEvent, readStreams } from '../../projections/past-events.ts'
import { createPolicies, type Policies } from '../../projections/policies.ts'
import { emptyUserRules, isRuleKind } from '../../projections/rules.ts'
import type { AuditQuery, RuleKind, RuleKinds } from '../rules/index.ts'
import { describeLostRace, type LostRaces } from './lost-races.ts'
import { AUDIT_PAGE, AUDIT_SUBJECTS, type auditQuery, SHARED_SUBJECTS } from './schemas.ts'

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
interface AuditedObject {
  readonly kind: string
  readonly change: string
  /** Null if it has none. Ids of rules, users, groups and policies are numbers from the same sequence. */
  readonly id: number | string | null
}

/** Returns undefined for events that the audit trail does not show. */
function findSubject(event: DomainEvent): AuditedObject | undefined {
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
  if (isRuleKind(kind)) {
    const { show }: RuleKind = kinds[kind]
    return formatLater<Rule>(rules[kind].get(number), show)
  }
  switch (kind) {
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

interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[]
  /** Cursor of the next page; null for the last page. */
  readonly next: string | null
}

type AuditQueryValues = Static<TObject<typeof auditQuery>>

/** Parses the points in the log and the cursor. Throws 400 naming the invalid parameter. */
export function parseAuditQuery(query: AuditQueryValues): AuditQuery {
  const { since, until, actor, kind, limit = AUDIT_PAGE.default, cursor } = query
  return {
    since: since === undefined ? undefined : parseAsOf(since, 'since'),
    until: until === undefined ? undefined : parseAsOf(until, 'until'),
    actor,
    kind,
    limit,
    below: cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor('below', cursor),
  }
}

/**
 * Returns one page of the entries that match. New entries do not shift pages, because a cursor points to a
 * position. See docs/decisions/rules.md, "The audit trail is newest first, and unknown filters are errors".
 */
export function findAuditEntries(entries: readonly AuditEntry[], query: AuditQuery): AuditPage {
  const matching = entries.filter((entry) => matchesQuery(entry, query)).toReversed()
  const page = matching.slice(0, query.limit)
  const last = page.at(-1)
  return {
    entries: page,
    next: last && matching.length > page.length ? encodeCursor('below', last.record.position) : null,
  }
}

function matchesQuery({ record, kind }: AuditEntry, query: AuditQuery): boolean {
  const { position, metadata } = record
  return (
    position < query.below &&
    (query.kind === undefined || kind === query.kind) &&
    (query.actor === undefined || metadata.actor.id === query.actor) &&
    (query.since === undefined || compareToAsOf(record, query.since) >= 0) &&
    (query.until === undefined || compareToAsOf(record, query.until) <= 0)
  )
}

/** Negative if the event is earlier than `asOf`, positive if it is later. */
export function compareToAsOf({ position, metadata }: RecordedEvent, asOf: AsOf): number {
  if (asOf.type === 'position') return position - asOf.position
  return Number(metadata.time > asOf.time) - Number(metadata.time < asOf.time)
}

/** Formats an entry as `/v1/audit` and the history endpoints return it. No change of a rule loses a race. */
export function showAuditEntry(entry: AuditEntry, lostRaces: LostRaces = new Map()): JsonObject {
  const noEffect = describeLostRace(lostRaces.get(entry.record.position))
  const before = entry.before()
  return showChange({ ...entry, noEffect, before, after: noEffect === undefined ? entry.after() : before })
}

/** An object before and after a change, as the API shows it; null if it did not exist. */
interface ChangedObject {
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** Finds what the entries have changed, by their position. Entries that changed no object are left out. */
export type ReadChangedObjects = (
  entries: readonly LogEntry[],
) => Promise<ReadonlyMap<Position, ChangedObject>>

/** Formats the object only if it is shown. */
type Change = Pick<AuditEntry, 'record' | 'before' | 'after'>

export function createChangedObjectReader(
  log: Pick<EventLog, 'read'>,
  history: Pick<History, 'eventsOf'>,
  kinds: RuleKinds,
): ReadChangedObjects {
  /** The changes of the user or the stream that the entry is about. */
  async function readChanges({ record, kind }: LogEntry): Promise<readonly Change[]> {
    const { userId } = record.data
    const events = await (typeof userId === 'number'
      ? history.eventsOf(userId)
      : readStreams(log, [record.stream]))
    return kind === 'operator' || kind === 'budget' ? foldFields(events) : toAuditEntries(events, kinds)
  }

  return async (entries) => {
    const found = new Map<Position, ChangedObject>()
    const wanted = new Set(
      entries.filter(({ kind }) => !UNCHANGING.has(kind)).map(({ record }) => record.position),
    )
    for (const entry of entries) {
      if (!wanted.has(entry.record.position) || found.has(entry.record.position)) continue
      for (const { record, before, after } of await readChanges(entry))
        if (wanted.has(record.position)) found.set(record.position, { before: before(), after: after() })
    }
    return found
  }
}

/** Kinds of entries about what happened, in place of what was changed. */
const UNCHANGING: ReadonlySet<LogEntry['kind']> = new Set([
  ...['access', 'approval', 'router', 'tool_server', 'log', 'unknown'],
])

/** The changes of operators, or of the budgets of everything and of copies. */
function foldFields(events: readonly PastEvent[]): readonly Change[] {
  const objects = new Map<unknown, JsonObject>()
  return events.map(({ record }) => {
    const { type, data } = record
    const id = data.operatorId ?? type.replace(/(?:Set|Removed)$/, '')
    const before = objects.get(id) ?? null
    const isRemoved = type.endsWith('Removed')
    const after = isRemoved ? null : showAfter(before, record)
    if (after === null) objects.delete(id)
    else objects.set(id, after)
    return { record, before: () => before, after: () => after }
  })
}

/** Events of operators set some fields, those of budgets all. */
function showAfter(before: JsonObject | null, { data }: RecordedEvent): JsonObject {
  const { operatorId: id, hash: _, replacedUntil: __, budget, changes, ...fields } = data
  // The cast is safe: events of budgets have one.
  return budget
    ? showFields(budget as Budget)
    : { ...before, id, ...showFields(fields), ...showFields(Object(changes)) }
}

/** An event as the audit trail of everything shows it. */
export interface LogEntry {
  readonly record: RecordedEvent
  /** One of `LOG_ENTRY_KINDS`. */
  readonly kind: string
  /** The kind of change; for an unknown event, its type. */
  readonly event: string
  readonly id: number | string | null
  /** Why the event had no effect; missing if it had one. */
  readonly noEffect?: string | undefined
}

/** Returns the entry of an event; undefined if the audit trail does not show it. */
export function toLogEntry(record: RecordedEvent): LogEntry | undefined {
  const event = decodeEvent(record)
  if (event === undefined) return { record, kind: 'unknown', event: record.type, id: null }
  const subject = findSubject(event)
  return subject && { record, kind: subject.kind, event: subject.change, id: subject.id }
}

/** An entry as answers and exports show it: with the content of the event, without hashes of keys. */
export function showLogEntry({ record, kind, event, id, noEffect }: LogEntry): JsonObject {
  const { data } = record
  const { hash: _, ...content } = data
  return {
    ...showRecord(record),
    kind,
    id,
    event,
    user_id: typeof data.userId === 'number' ? data.userId : null,
    ...(typeof data.groupId === 'number' && { group_id: data.groupId }),
    ...(typeof data.policyId === 'number' && { policy_id: data.policyId }),
    ...(noEffect !== undefined && { no_effect: noEffect }),
    data: content,
  }
}
