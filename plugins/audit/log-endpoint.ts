import {
  type Endpoint,
  endpoint,
  type JsonObject,
  operator,
  type RecordedEvent,
  type Static,
  type TObject,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/cursor.ts'
import { showRecord } from '../../core/resources/changes.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createBackgroundYield } from '../../core/util/cooperative-yield.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import { decodeEvent } from '../../projections/events/registry.ts'
import {
  AUDIT_SUBJECTS,
  compareToAsOf,
  findSubject,
  type ReadChangedObjects,
  SHARED_SUBJECTS,
} from './audit-entries.ts'
import type { LogReader } from './read-log.ts'
import { AUDIT_PAGE, adminAuditQuery, LogEntryPage } from './schemas.ts'
import { type IndexTerm, LogSearch, toIndexTerms } from './search-log.ts'

/** The kinds of entries in the audit trail of everything. */
export const LOG_ENTRY_KINDS = [
  ...AUDIT_SUBJECTS,
  ...SHARED_SUBJECTS,
  'operator',
  'access',
  'budget',
  'router',
  'log',
  'unknown',
] as const

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

type AdminAuditQuery = Static<TObject<typeof adminAuditQuery>>

/** A condition on entries, and where in the log those that fulfil it are. */
export interface LogFilter {
  readonly user: number | undefined
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  /** What the index of the log knows of the condition. */
  readonly terms: readonly IndexTerm[]
  /** Whether entries can be left out, so that a page may be far away. */
  readonly isSelective: boolean
  matches(entry: LogEntry): boolean
}

/** Throws 400 that names an invalid parameter. */
export function parseLogFilter(query: AdminAuditQuery): LogFilter {
  const { user, group, policy, actor, kind, rule } = query
  const since = query.since === undefined ? undefined : parseAsOf(query.since, 'since')
  const until = query.until === undefined ? undefined : parseAsOf(query.until, 'until')
  const text = query.q?.toLowerCase()
  const terms = toIndexTerms({ user, group, policy, actor, kind, rule })
  return {
    user,
    since,
    until,
    terms,
    isSelective: terms.length > 0 || text !== undefined || since !== undefined || until !== undefined,
    matches(entry) {
      const { record } = entry
      const { data, metadata } = record
      return (
        (kind === undefined || entry.kind === kind) &&
        (user === undefined || data.userId === user) &&
        (group === undefined || data.groupId === group) &&
        (policy === undefined || data.policyId === policy) &&
        (rule === undefined || data.ruleId === rule) &&
        (actor === undefined || metadata.actor.id === actor) &&
        (since === undefined || compareToAsOf(record, since) >= 0) &&
        (until === undefined || compareToAsOf(record, until) <= 0) &&
        (text === undefined || containsText(entry, text))
      )
    },
  }
}

/** Whether the content, the actor or the reason contains a text, whatever its case. */
function containsText({ record: { data, metadata } }: LogEntry, lowerText: string): boolean {
  const { hash: _, ...content } = data
  const { id, name } = metadata.actor
  const texts = [JSON.stringify(content), id, name, metadata.reason ?? '', metadata.requestId ?? '']
  return texts.some((text) => text.toLowerCase().includes(lowerText))
}

/** `GET /admin/audit`: everything that changed, and what operators did, newest first or as an export. */
export function createLogEndpoint(reader: LogReader, readObjects: ReadChangedObjects): Endpoint {
  const search = new LogSearch(reader)
  return endpoint({
    method: 'GET',
    path: '/admin/audit',
    access: operator('auditor'),
    operationId: 'listAuditEntries',
    summary: 'Lists all changes, and sign-ins, refused calls and reads of operators, newest first.',
    description: 'An export has the entries up to the call, oldest first. It is an entry itself.',
    tags: ['audit'],
    query: adminAuditQuery,
    responses: {
      200: {
        description: 'A page of entries, or all of them as JSON lines or CSV.',
        body: LogEntryPage,
        text: ['application/jsonl', 'text/csv'],
      },
    },
    errors: ['audit_busy'],
    audited: ({ format = 'json' }) => (format === 'json' ? undefined : 'export'),
    async handle({ query, client }) {
      const { format = 'json', limit = AUDIT_PAGE.default, cursor, objects: hasObjects = false } = query
      const filter = parseLogFilter(query)
      if (format !== 'json') return exportEntries(reader, filter, format)
      const below = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor('below', cursor)
      const entries = await search.find(filter, below, limit + 1, client.signal)
      const page = entries.slice(0, limit)
      const last = entries.length > limit ? page.at(-1) : undefined
      const next_cursor = last ? encodeCursor('below', last.record.position) : null
      const objects = hasObjects ? await readObjects(page) : undefined
      const data = page.map((entry) => ({ ...showLogEntry(entry), ...objects?.get(entry.record.position) }))
      return { status: 200, body: { data, next_cursor } }
    },
  })
}

const FORMATS = {
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    header: '',
    toLine: (entry: LogEntry) => `${JSON.stringify(showLogEntry(entry))}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    header: toCsvLine([
      ...['position', 'time', 'actor_type', 'actor_id', 'actor_name', 'reason', 'request_id'],
      ...['kind', 'id', 'event', 'user_id', 'data', 'no_effect'],
    ]),
    toLine(entry: LogEntry) {
      const { data, no_effect, ...shown } = showLogEntry(entry)
      const { position, time, reason, request_id, kind, id, event, user_id } = shown
      const { type, id: actorId, name } = entry.record.metadata.actor
      const actor = [type, actorId, name]
      const content = JSON.stringify(data)
      const subject = [kind, id, event, user_id]
      return toCsvLine([position, time, ...actor, reason, request_id, ...subject, content, no_effect])
    },
  },
}

async function exportEntries(reader: LogReader, { since, matches }: LogFilter, format: keyof typeof FORMATS) {
  const { type, header, toLine } = FORMATS[format]
  const parts = reader.forwards(since?.type === 'position' ? Math.max(0, since.position - 1) : 0)
  // The first part is read before the response begins, so that it can still be an error.
  const first = await parts.next()

  async function* toLines(): AsyncGenerator<string> {
    if (header !== '') yield header
    const slice = createBackgroundYield()
    for (let part = first; !part.done; part = await parts.next()) {
      let lines = ''
      for (const entry of part.value) {
        if (slice.isDue()) await slice.yieldNow()
        if (matches(entry)) lines += toLine(entry)
      }
      yield lines
    }
  }

  const headers = { 'content-type': type, 'content-disposition': `attachment; filename="audit.${format}"` }
  return { status: 200, headers, stream: toLines() }
}
