import type { JsonObject, RecordedEvent, Static, TObject } from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/cursor.ts'
import { showRecord } from '../../core/resources/changes.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import type { AuditQuery } from '../rules/index.ts'
import type { AuditEntry } from './audit-entries.ts'
import { describeLostRace, type LostRaces } from './lost-races.ts'
import { AUDIT_PAGE, type auditQuery } from './schemas.ts'

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
  return {
    ...showRecord(entry.record),
    kind: entry.kind,
    id: entry.id,
    revision: entry.revision,
    event: entry.event,
    ...(entry.revertedTo !== undefined && { reverted_to: entry.revertedTo }),
    ...(noEffect !== undefined && { no_effect: noEffect }),
    before,
    after: noEffect === undefined ? entry.after() : before,
  }
}
