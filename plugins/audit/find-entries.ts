import { type GatewayContext, GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { AUDIT_SUBJECTS, type AuditEntry } from './audit-entries.ts'

/** The filters and the page of `GET /v1/audit`. */
interface AuditQuery {
  /** Inclusive, like `until`. */
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  readonly actor: string | undefined
  readonly kind: string | undefined
  readonly limit: number
  /** Only entries before this position. */
  readonly below: number
}

interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[]
  /** Cursor of the next page; null for the last page. */
  readonly next: string | null
}

const LIMIT = { default: 50, max: 500 }

/** Parses the query of `GET /v1/audit`. Throws 400 naming the invalid parameter. */
export function parseAuditQuery(ctx: GatewayContext): AuditQuery {
  const { since, until, actor, kind, limit, cursor } = parseQuery(ctx, [
    'since',
    'until',
    'actor',
    'kind',
    'limit',
    'cursor',
  ])
  if (kind !== undefined && !(AUDIT_SUBJECTS as readonly string[]).includes(kind)) {
    throw invalidParameterError('kind', `kind must be one of ${AUDIT_SUBJECTS.join(', ')}.`)
  }
  return {
    since: since === undefined ? undefined : parseAsOf(since, 'since'),
    until: until === undefined ? undefined : parseAsOf(until, 'until'),
    actor,
    kind,
    limit: limit === undefined ? LIMIT.default : parseLimit(limit),
    below: cursor === undefined ? Number.POSITIVE_INFINITY : decodeCursor(cursor),
  }
}

/**
 * Parses a query string. Throws 400 for a repeated parameter, and for an unknown one, which may be a
 * misspelled filter. See docs/decisions/rules.md, "The audit trail is newest first, and unknown filters are
 * errors".
 */
export function parseQuery<Name extends string>(
  { query }: GatewayContext,
  names: readonly Name[],
): { readonly [name in Name]?: string } {
  const values: { [name in Name]?: string } = {}
  for (const [param, value] of Object.entries(query)) {
    const name = names.find((known) => known === param)
    if (name === undefined) {
      const message = `${param} is not a query parameter of this endpoint. Use ${names.join(', ')}.`
      throw invalidParameterError(param, message)
    }
    if (typeof value !== 'string')
      throw invalidParameterError(param, `${param} must not be given more than once.`)
    values[name] = value
  }
  return values
}

function parseLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT.max) return limit
  throw invalidParameterError('limit', `limit must be an integer from 1 to ${LIMIT.max}.`)
}

/** The 400 for an invalid parameter. */
export function invalidParameterError(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/**
 * Returns one page of the entries that match. New entries do not shift pages, because a cursor points to a
 * position. See docs/decisions/rules.md, "The audit trail is newest first, and unknown filters are errors".
 */
export function findAuditEntries(entries: readonly AuditEntry[], query: AuditQuery): AuditPage {
  const matching = entries.filter((entry) => matchesQuery(entry, query)).toReversed()
  const page = matching.slice(0, query.limit)
  const last = page.at(-1)
  return { entries: page, next: last && matching.length > page.length ? encodeCursor(last) : null }
}

function matchesQuery({ record, kind }: AuditEntry, query: AuditQuery): boolean {
  const { position, metadata } = record
  return (
    position < query.below &&
    (query.kind === undefined || kind === query.kind) &&
    (query.actor === undefined || metadata.actor === query.actor) &&
    (query.since === undefined || compareToAsOf(record, query.since) >= 0) &&
    (query.until === undefined || compareToAsOf(record, query.until) <= 0)
  )
}

/** Negative if the event is earlier than `asOf`, positive if it is later. */
function compareToAsOf({ position, metadata }: AuditEntry['record'], asOf: AsOf): number {
  if (asOf.type === 'position') return position - asOf.position
  return Number(metadata.time > asOf.time) - Number(metadata.time < asOf.time)
}

/** Cursors are opaque to clients, so that their content may change. */
function encodeCursor({ record }: AuditEntry): string {
  return Buffer.from(`below:${record.position}`).toString('base64url')
}

function decodeCursor(cursor: string): number {
  const position = /^below:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (position !== undefined) return Number(position)
  throw invalidParameterError('cursor', 'cursor must be the next_cursor of an earlier response.')
}

/** Formats an entry as `/v1/audit` and the history endpoints return it. */
export function showAuditEntry(entry: AuditEntry): JsonObject {
  const { position, metadata } = entry.record
  return {
    position,
    time: metadata.time,
    actor: metadata.actor,
    request_id: metadata.requestId ?? null,
    kind: entry.kind,
    id: entry.id,
    revision: entry.revision,
    event: entry.event,
    ...(entry.revertedTo !== undefined && { reverted_to: entry.revertedTo }),
    before: entry.before(),
    after: entry.after(),
  }
}
