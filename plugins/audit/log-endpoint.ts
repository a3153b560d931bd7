import { type Endpoint, endpoint, operator } from '../../core/contract/index.ts'
import { toActor } from '../../core/event-log/actor.ts'
import { decodeCursor, encodeCursor } from '../../core/http/cursor.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import { compareToAsOf } from './find-entries.ts'
import { type LogEntry, showLogEntry } from './log-entries.ts'
import { type LogFilter, parseLogFilter } from './log-filter.ts'
import { adminAuditQuery, LogEntryPage } from './log-schemas.ts'
import type { LogReader } from './read-log.ts'
import { AUDIT_PAGE } from './schemas.ts'

/** `GET /admin/audit`: everything that changed, and what operators did, newest first or as an export. */
export function createLogEndpoint(reader: LogReader): Endpoint {
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
    audited: ({ format = 'json' }) => (format === 'json' ? undefined : 'export'),
    async handle({ query }) {
      const { format = 'json', limit = AUDIT_PAGE.default, cursor } = query
      const filter = parseLogFilter(query)
      if (format !== 'json') return exportEntries(reader, filter, format)
      const below = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor('below', cursor)
      const entries = await findEntries(reader, filter, below, limit + 1)
      const page = entries.slice(0, limit)
      const last = entries.length > limit ? page.at(-1) : undefined
      const next_cursor = last ? encodeCursor('below', last.record.position) : null
      return { status: 200, body: { data: page.map(showLogEntry), next_cursor } }
    },
  })
}

/** Returns at most `count` entries, newest first. */
async function findEntries(
  reader: LogReader,
  { user, since, until, terms, matches }: LogFilter,
  below: number,
  count: number,
): Promise<readonly LogEntry[]> {
  const found: LogEntry[] = []
  const start = until?.type === 'position' ? Math.min(below, until.position + 1) : below
  for await (const part of reader.backwards(start, user, terms)) {
    for (const entry of part) {
      // Times in the log never decrease by more than the clocks of its nodes differ.
      if (matches(entry)) found.push(entry)
      if (found.length === count) return found
    }
    const oldest = part.at(-1)?.record
    if (since?.type === 'position' && oldest && compareToAsOf(oldest, since) < 0) break
  }
  return found
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
      ...['kind', 'id', 'event', 'user_id', 'data'],
    ]),
    toLine(entry: LogEntry) {
      const { position, time, reason, request_id, kind, id, event, user_id, data } = showLogEntry(entry)
      const { type, id: actorId, name } = toActor(entry.record.metadata.actor)
      const actor = [type, actorId, name]
      const content = JSON.stringify(data)
      return toCsvLine([position, time, ...actor, reason, request_id, kind, id, event, user_id, content])
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
    for (let part = first; !part.done; part = await parts.next())
      yield part.value.filter(matches).map(toLine).join('')
  }

  const headers = { 'content-type': type, 'content-disposition': `attachment; filename="audit.${format}"` }
  return { status: 200, headers, stream: toLines() }
}
