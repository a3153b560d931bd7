import type { GatewayContext, JsonObject } from '../../core/contract/index.ts'
import { GatewayError } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { AUDIT_SUBJECTS, type AuditEntry } from './audit-entries.ts'

/** What the caller wants to see of the trail. */
interface AuditQuery {
  /** Both ends are included. */
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  readonly actor: string | undefined
  readonly kind: string | undefined
  readonly limit: number
  /** Only what is older than this position. */
  readonly below: number
}

interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[]
  readonly next: string | null
}

const LIMIT = { usual: 50, most: 500 }

/** Reads `?since&until&actor&kind&limit&cursor`; 400 names the parameter at fault. */
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
    limit: limit === undefined ? LIMIT.usual : readLimit(limit),
    below: cursor === undefined ? Number.POSITIVE_INFINITY : readCursor(cursor),
  }
}

/** A page of the trail. What is added meanwhile is newer than any cursor, so pages never shift. */
export function findAuditEntries(trail: readonly AuditEntry[], query: AuditQuery): AuditPage {
  const found = trail.filter((entry) => matches(entry, query)).toReversed()
  const entries = found.slice(0, query.limit)
  const last = entries.at(-1)
  return { entries, next: last && found.length > entries.length ? writeCursor(last) : null }
}

function matches({ record, kind }: AuditEntry, query: AuditQuery): boolean {
  const { position, metadata } = record
  return (
    position < query.below &&
    (query.kind === undefined || kind === query.kind) &&
    (query.actor === undefined || metadata.actor === query.actor) &&
    (query.since === undefined || compare(record, query.since) >= 0) &&
    (query.until === undefined || compare(record, query.until) <= 0)
  )
}

/** Below 0 when the event is earlier than the moment, above when it is later. */
function compare({ position, metadata }: AuditEntry['record'], moment: AsOf): number {
  if (moment.type === 'position') return position - moment.position
  return Number(metadata.time > moment.time) - Number(metadata.time < moment.time)
}

function readLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT.most) return limit
  throw invalidParameterError('limit', `limit must be a whole number from 1 to ${LIMIT.most}.`)
}

/** Opaque to callers, so that what is in it may change. */
function writeCursor({ record }: AuditEntry): string {
  return Buffer.from(`below:${record.position}`).toString('base64url')
}

function readCursor(cursor: string): number {
  const position = /^below:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (position !== undefined) return Number(position)
  throw invalidParameterError('cursor', 'cursor must be the next_cursor of an earlier answer.')
}

/** A change as history and audit show it. */
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

/** 400 for a parameter that is not what it must be. */
export function invalidParameterError(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/** The parameters of a query, each given once at most; 400 for an unknown one, which would narrow nothing when it is misspelt. */
export function parseQuery<Name extends string>(
  { query }: GatewayContext,
  names: readonly Name[],
): { readonly [name in Name]?: string } {
  const values: { [name in Name]?: string } = {}
  for (const [param, value] of Object.entries(query)) {
    const name = names.find((known) => known === param)
    if (name === undefined) {
      throw invalidParameterError(
        param,
        `There is no parameter ${param} here. Known are ${names.join(', ')}.`,
      )
    }
    if (typeof value !== 'string') throw invalidParameterError(param, `${param} must be given once.`)
    values[name] = value
  }
  return values
}
