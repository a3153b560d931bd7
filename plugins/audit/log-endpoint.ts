import { type Endpoint, endpoint, operator } from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import { createBackgroundYield } from '../../core/util/cooperative-yield.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import type { Policies } from '../../projections/policies.ts'
import { type LogEntry, type ReadChangedObjects, showLogEntry } from './audit-entries.ts'
import { type LogFilter, parseLogFilter } from './log-filter.ts'
import type { LogReader } from './read-log.ts'
import { AUDIT_PAGE, adminAuditQuery, LogEntryPage } from './schemas.ts'
import { narrowObject, toEntryFilter } from './scoped-entries.ts'
import { LogSearch } from './search-log.ts'

/** `GET /admin/audit`: everything that changed, and what operators did, newest first or as an export. */
export function createLogEndpoint(
  reader: LogReader,
  readObjects: ReadChangedObjects,
  policies: Pick<Policies, 'policy'>,
): Endpoint {
  const search = new LogSearch(reader)
  return endpoint({
    method: 'GET',
    path: '/admin/audit',
    access: operator('auditor', 'filtered'),
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
    async handle({ query, client, scope }) {
      const { format = 'json', limit = AUDIT_PAGE.default, cursor, objects: hasObjects = false } = query
      const filter = parseLogFilter(query, scope && toEntryFilter(scope, policies))
      if (format !== 'json') return exportEntries(reader, filter, format)
      const below = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor('below', cursor)
      const entries = await search.find(filter, below, limit + 1, client.signal)
      const page = entries.slice(0, limit)
      const last = entries.length > limit ? page.at(-1) : undefined
      const next_cursor = last ? encodeCursor('below', last.record.position) : null
      const objects = hasObjects ? await readObjects(page) : undefined
      const showObject = (entry: LogEntry) => {
        const object = objects?.get(entry.record.position)
        if (object === undefined || scope === undefined) return object
        const { before, after } = object
        return { before: narrowObject(entry, before, scope), after: narrowObject(entry, after, scope) }
      }
      const data = page.map((entry) => ({ ...showLogEntry(entry), ...showObject(entry) }))
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
