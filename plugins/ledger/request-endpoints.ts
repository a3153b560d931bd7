import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type OperatorScope,
  operator,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import { respondWithExport } from './export-pages.ts'
import type { LedgerReader } from './reader.ts'
import {
  adminFiguresQuery,
  adminRequestQuery,
  figuresQuery,
  parseRuleFilter,
  REQUEST_PAGE,
  RequestFiguresSchema,
  RequestRecordPage,
  RequestRecordSchema,
  requestId,
  requestQuery,
} from './schemas.ts'
import { narrowRecord, toGroupFilter } from './scoped-records.ts'
import { CSV_HEADER, showFigures, showRecord, toRecordLine } from './show-record.ts'
import type { RequestFilter, StoredRecord } from './store/queries.ts'
import { parseTimeRange } from './time-parameter.ts'

const PAGE_RESPONSE = {
  200: {
    description: 'A page of requests, or all of them as JSON lines or CSV.',
    body: RequestRecordPage,
    text: ['application/jsonl', 'text/csv'],
  },
}

/** A filter may pass millions of requests. */
const MAX_FIGURES = 10_000

const FIGURES_RESPONSE = { 200: { description: 'The figures.', body: data(RequestFiguresSchema) } }

/** Creates the endpoints that read requests. */
export function createRequestEndpoints(reader: LedgerReader): readonly Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/requests/{id}',
      access: user(),
      operationId: 'readRequest',
      summary: 'Returns the record of a request: applied rules, route, provider calls, tokens and cost.',
      tags: ['inference'],
      params: { id: requestId },
      responses: { 200: { description: 'The record.', body: data(RequestRecordSchema) } },
      errors: ['ledger_unavailable'],
      async handle({ params: { id }, account }) {
        const record = await reader.find(id)
        if (record?.userId !== account.userId) {
          const message = `Request ${id} was not found or is no longer recorded.`
          throw new GatewayError('not_found', message)
        }
        return { status: 200, body: { data: showRecord(record) } }
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/requests',
      access: user(),
      operationId: 'listRequests',
      summary: 'Lists your inference requests, newest first.',
      tags: ['inference'],
      query: requestQuery,
      responses: PAGE_RESPONSE,
      errors: ['ledger_unavailable'],
      handle: ({ query, account }) => respond(reader, query, { userId: account.userId }),
    }),
    endpoint({
      method: 'GET',
      path: '/admin/requests',
      access: operator('auditor', 'filtered'),
      operationId: 'listAllRequests',
      summary: 'Lists the inference requests of all users, newest first.',
      tags: ['admin'],
      query: adminRequestQuery,
      responses: PAGE_RESPONSE,
      errors: ['ledger_unavailable'],
      audited: ({ format = 'json' }) => (format === 'json' ? undefined : 'export'),
      handle: ({ query, scope }) =>
        respond(
          reader,
          query,
          {
            ...(query.user !== undefined && { userId: query.user }),
            ...toGroupFilter(query.group, scope),
          },
          scope,
        ),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/request-figures',
      access: user(),
      operationId: 'readRequestFigures',
      summary: 'Returns figures of your inference requests: errors, cost, percentiles of latencies.',
      tags: ['inference'],
      query: figuresQuery,
      responses: FIGURES_RESPONSE,
      errors: ['ledger_unavailable'],
      handle: ({ query, account }) => respondWithFigures(reader, query, { userId: account.userId }),
    }),
    endpoint({
      method: 'GET',
      path: '/admin/request-figures',
      access: operator('auditor', 'filtered'),
      operationId: 'readAllRequestFigures',
      summary: 'Returns figures of the inference requests of all users.',
      tags: ['admin'],
      query: adminFiguresQuery,
      responses: FIGURES_RESPONSE,
      errors: ['ledger_unavailable'],
      handle: ({ query, scope }) =>
        respondWithFigures(reader, query, {
          ...(query.user !== undefined && { userId: query.user }),
          ...toGroupFilter(query.group, scope),
        }),
    }),
  ]
}

async function respondWithFigures(
  reader: LedgerReader,
  query: Static<TObject<typeof figuresQuery>>,
  caller: RequestFilter,
) {
  const filter = { ...parseRequestFilter(query), ...caller }
  const figures = await reader.figures({ filter, limit: MAX_FIGURES })
  return { status: 200, body: { data: showFigures(figures) } }
}

type RequestQueryValues = Static<TObject<typeof requestQuery>>

async function respond(
  reader: LedgerReader,
  query: RequestQueryValues,
  caller: RequestFilter,
  scope?: OperatorScope,
) {
  const narrow = (record: StoredRecord) => narrowRecord(record, scope)
  const { format = 'json', limit, cursor } = query
  const filter = { ...parseRequestFilter(query), ...caller }
  const start = cursor === undefined ? undefined : decodeCursor('before', cursor)
  async function readPage(before: number | undefined, count: number) {
    const page = await reader.list({ filter, ...(before !== undefined && { before }), limit: count })
    return { rows: page.records.map(narrow), next: page.next }
  }
  if (format !== 'json')
    return respondWithExport(`requests.${format}`, FORMATS[format], readPage, start, limit)
  const { rows, next } = await readPage(start, limit ?? REQUEST_PAGE.default)
  const next_cursor = next === undefined ? null : encodeCursor('before', next)
  return { status: 200, body: { data: rows.map(showRecord), next_cursor } }
}

const FORMATS = {
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    header: '',
    toLine: (record: StoredRecord) => `${JSON.stringify(showRecord(record))}\n`,
  },
  csv: { type: 'text/csv; charset=utf-8', header: CSV_HEADER, toLine: toRecordLine },
}

/** Throws 400 that names an invalid time. */
export function parseRequestFilter(
  query: Omit<RequestQueryValues, 'format' | 'cursor' | 'limit'>,
): RequestFilter {
  const { key, rule, action, status, model, provider, endpoint, copies, q } = query
  const { min_score, max_score, session_id } = query
  return {
    ...(key !== undefined && { keyId: key }),
    ...(rule !== undefined && { rule: parseRuleFilter(rule) }),
    ...(action !== undefined && { action }),
    ...(status !== undefined && { status }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(endpoint !== undefined && { endpoint }),
    ...((copies === 'include' || copies === 'only') && { copies }),
    ...(min_score !== undefined && { minScore: min_score }),
    ...(max_score !== undefined && { maxScore: max_score }),
    ...(q !== undefined && { text: q }),
    ...(session_id !== undefined && { sessionId: session_id }),
    ...parseTimeRange(query),
  }
}
