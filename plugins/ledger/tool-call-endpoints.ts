import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  Nullable,
  type OperatorScope,
  operator,
  type Static,
  StringEnum,
  type TObject,
  Type,
  user,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import {
  AnyFields,
  Count,
  NextCursor,
  pageQuery,
  RuleOriginSchema,
  Timestamp,
  WarningSchema,
} from '../../core/http/schemas.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import type { ReportPromptAccess } from '../../projections/events/access.ts'
import { respondWithExport } from './export-pages.ts'
import { createUnreadableError } from './prompt-endpoints.ts'
import type { LedgerReader } from './reader.ts'
import {
  exportFormat,
  groupFilter,
  parseRuleFilter,
  range,
  requestId,
  ruleFilter,
  sessionFilter,
  userFilter,
} from './schemas.ts'
import { narrowRecord, toGroupFilter } from './scoped-records.ts'
import { type StoredToolCall, TOOL_CALL_VERDICTS, type ToolCallFilter } from './store/tool-calls.ts'
import { parseTimeRange } from './time-parameter.ts'

const ToolCallSchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the request, req_….' }),
    time: Timestamp('When the tool was called.'),
    user_id: Count('Id of the user.'),
    key_id: Type.String({ description: 'Id of the key; empty for a token of an identity provider.' }),
    group_ids: Type.Array(Type.Integer({ format: 'int64' }), {
      description: 'Ids of the groups that the user was in.',
    }),
    session_id: Nullable(Type.String(), { description: 'The session of the agent, if it has one.' }),
    server: Type.String({ description: 'Name of the tool server.' }),
    tool: Type.String({ description: 'Name of the tool.' }),
    revision: Nullable(Type.Integer(), { description: 'Revision of the definition of the tool.' }),
    arguments_digest: Type.String({
      description: 'SHA-256 of the arguments as canonical JSON (RFC 8785), in hexadecimal digits.',
    }),
    verdict: StringEnum(TOOL_CALL_VERDICTS, {
      description:
        'What became of the call. allowed and approved: it was answered. failed: it was sent, or should ' +
        'have been, and the server did not answer it with a result.',
    }),
    error_code: Nullable(Type.String(), {
      description:
        'Code of the error that the caller got; tool_server_error for an error of the server itself, ' +
        'tool_error for a result of at most 64 KB that says isError, cancelled if the client did not wait.',
    }),
    rules: Type.Array(
      Type.Object(
        {
          kind: Type.String({ description: 'Kind of the rule.' }),
          id: Count('Id of the rule.'),
          name: Type.String({ description: 'Name of the rule then.' }),
          action: Type.String({ description: 'What the rule did.' }),
          origin: Type.Optional(RuleOriginSchema),
        },
        { $id: 'ToolCallRule', description: 'A rule that said something about a call.' },
      ),
      { description: 'The rules that said something about the call.' },
    ),
    warnings: Type.Array(WarningSchema, { description: 'Warnings about the call.' }),
    request_bytes: Count('Bytes of the arguments.'),
    result_bytes: Count('Bytes of the result.'),
    duration_ms: Type.Number({ description: 'Milliseconds until the result was sent.' }),
    upstream_ms: Type.Number({
      description: 'Of them, milliseconds of the tool server until its result began.',
    }),
    rules_position: Count('Log position of the rules and definitions that decided.'),
    read: Type.Array(Type.String(), {
      description: 'Tool servers whose results the session had read before.',
    }),
  },
  { $id: 'ToolCall', description: 'A call of a tool.' },
)

const ToolCallPage = Type.Object(
  { data: Type.Array(ToolCallSchema, { description: 'The calls.' }), next_cursor: NextCursor },
  { $id: 'ToolCallPage', description: 'A page of calls of tools.' },
)

const RecordedArguments = Type.Object(
  {
    id: Type.String({ description: 'Id of the call.' }),
    user_id: Count('Id of the user.'),
    server: Type.String({ description: 'Name of the tool server.' }),
    tool: Type.String({ description: 'Name of the tool.' }),
    arguments: AnyFields('As the client sent them, or as the firewall let them pass.'),
  },
  { $id: 'ToolCallArguments', description: 'The recorded arguments of a call of a tool.' },
)

const PAGE = { default: 50, max: 500 }

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description, examples: [example] }))

const toolCallQuery = {
  server: text('Name of the tool server.', 'files'),
  tool: text('Name of the tool.', 'read_file'),
  verdict: Type.Optional(StringEnum(TOOL_CALL_VERDICTS, { description: 'What became of the calls.' })),
  rule: ruleFilter,
  session_id: sessionFilter,
  order: Type.Optional(
    StringEnum(['newest', 'oldest'], {
      default: 'newest',
      description: 'Which calls come first. With oldest, a session reads as it went on.',
    }),
  ),
  ...range,
  format: exportFormat,
  ...pageQuery(PAGE, 'YmVmb3JlOjk'),
}

type ToolCallQueryValues = Static<TObject<typeof toolCallQuery>>

/** Creates the endpoints that read calls of tools. */
export function createToolCallEndpoints(
  reader: LedgerReader,
  report: ReportPromptAccess,
): readonly Endpoint[] {
  async function list(query: ToolCallQueryValues, caller: ToolCallFilter, scope?: OperatorScope) {
    const { server, tool, verdict, rule, session_id, order, cursor, limit, format = 'json' } = query
    const filter = {
      ...(server !== undefined && { server }),
      ...(tool !== undefined && { tool }),
      ...(verdict !== undefined && { verdict }),
      ...(rule !== undefined && { rule: parseRuleFilter(rule) }),
      ...(session_id !== undefined && { sessionId: session_id }),
      ...parseTimeRange(query),
      ...caller,
    }
    const isAscending = order === 'oldest'
    const kind = isAscending ? 'after' : 'before'
    const ordered = isAscending ? { isAscending } : {}
    const start = cursor === undefined ? undefined : decodeCursor(kind, cursor)
    async function readPage(from: number | undefined, count: number) {
      const begin = from === undefined ? {} : { [kind]: from }
      const found = await reader.listToolCalls({ filter, limit: count + 1, ...begin, ...ordered })
      const rows = found.slice(0, count)
      const last = found.length > count ? rows.at(-1) : undefined
      return { rows: rows.map((call) => narrowRecord(call, scope)), next: last?.number }
    }
    if (format !== 'json')
      return respondWithExport(`tool-calls.${format}`, FORMATS[format], readPage, start, limit)
    const { rows, next } = await readPage(start, limit ?? PAGE.default)
    const next_cursor = next === undefined ? null : encodeCursor(kind, next)
    return { status: 200, body: { data: rows.map(showToolCall), next_cursor } }
  }

  async function read(id: string, caller: ToolCallFilter, scope?: OperatorScope) {
    const [call] = await reader.listToolCalls({ filter: { id, ...caller }, limit: 1 })
    if (call === undefined)
      throw new GatewayError('not_found', `Tool call ${id} was not found or is no longer recorded.`)
    return { status: 200, body: { data: showToolCall(narrowRecord(call, scope)) } }
  }

  const common = { method: 'GET', tags: ['tools'], errors: ['ledger_unavailable'] } as const
  const pages = {
    200: {
      description: 'A page of calls, or all of them as JSON lines or CSV.',
      body: ToolCallPage,
      text: ['application/jsonl', 'text/csv'],
    },
  }
  const record = { 200: { description: 'The call.', body: data(ToolCallSchema) } }

  return [
    endpoint({
      ...common,
      path: '/v1/tool-calls',
      access: user(),
      operationId: 'listToolCalls',
      summary: 'Lists your calls of tools.',
      query: toolCallQuery,
      responses: pages,
      handle: ({ query, account: { userId } }) => list(query, { userId }),
    }),
    endpoint({
      ...common,
      path: '/v1/tool-calls/{id}',
      access: user(),
      params: { id: requestId },
      operationId: 'readToolCall',
      summary: 'Returns one of your calls of tools.',
      responses: record,
      handle: ({ params: { id }, account: { userId } }) => read(id, { userId }),
    }),
    endpoint({
      ...common,
      path: '/admin/tool-calls',
      access: operator('auditor', 'filtered'),
      operationId: 'listAllToolCalls',
      summary: 'Lists the calls of tools of all users.',
      query: { ...toolCallQuery, user: userFilter, group: groupFilter },
      responses: pages,
      audited: ({ format = 'json' }) => (format === 'json' ? undefined : 'export'),
      handle: ({ query, scope }) =>
        list(
          query,
          { ...(query.user !== undefined && { userId: query.user }), ...toAnyGroup(query.group, scope) },
          scope,
        ),
    }),
    endpoint({
      ...common,
      path: '/admin/tool-calls/{id}',
      access: operator('auditor', 'filtered'),
      params: { id: requestId },
      operationId: 'readAnyToolCall',
      summary: 'Returns a call of a tool.',
      responses: record,
      handle: ({ params: { id }, scope }) => read(id, toAnyGroup(undefined, scope), scope),
    }),
    endpoint({
      ...common,
      path: '/admin/tool-calls/{id}/arguments',
      access: operator('auditor', 'filtered'),
      params: { id: requestId },
      operationId: 'readToolCallArguments',
      summary: 'Returns the recorded arguments of a call of a tool.',
      description: 'Each read is an event of the audit trail.',
      responses: { 200: { description: 'The arguments.', body: data(RecordedArguments) } },
      errors: ['not_found', 'prompt_unreadable', 'ledger_unavailable'],
      async handle({ params: { id }, author, scope }) {
        const filter = { id, ...toAnyGroup(undefined, scope) }
        const [call] = await reader.listToolCalls({ filter, limit: 1, withArguments: true })
        if (call?.unreadable !== undefined)
          throw createUnreadableError(`The arguments of tool call ${id}`, call.unreadable)
        if (call?.argumentsText === undefined)
          throw new GatewayError(
            'not_found',
            `No arguments are recorded for tool call ${id}, or they have expired.`,
          )
        const { userId, server, tool, argumentsText } = call
        await report({ type: 'read_arguments', callId: id, userId }, author)
        const shown = { id, user_id: userId, server, tool, arguments: JSON.parse(argumentsText) }
        return { status: 200, body: { data: shown } }
      },
    }),
  ]
}

/** Filters by the group of a query, within the groups of a scope. */
function toAnyGroup(group: number | undefined, scope: OperatorScope | undefined): ToolCallFilter {
  const { groupId, anyGroup } = toGroupFilter(group, scope)
  if (groupId !== undefined) return { anyGroup: [groupId] }
  return anyGroup === undefined ? {} : { anyGroup }
}

/** The columns of CSV. */
const CSV_COLUMNS: readonly (readonly [name: string, read: (call: StoredToolCall) => unknown])[] = [
  ['id', ({ id }) => id],
  ['time', ({ time }) => time],
  ['user_id', ({ userId }) => userId],
  ['key_id', ({ keyId }) => keyId],
  ['group_ids', ({ groups }) => groups.join(' ')],
  ['session_id', ({ sessionId }) => sessionId],
  ['server', ({ server }) => server],
  ['tool', ({ tool }) => tool],
  ['revision', ({ revision }) => revision],
  ['arguments_digest', ({ argumentsDigest }) => argumentsDigest],
  ['verdict', ({ verdict }) => verdict],
  ['error_code', ({ errorCode }) => errorCode],
  ['rules', ({ rules }) => rules.map(({ kind, id, action }) => `${kind}:${id}:${action}`).join(' ')],
  ['request_bytes', ({ requestBytes }) => requestBytes],
  ['result_bytes', ({ resultBytes }) => resultBytes],
  ['duration_ms', ({ durationMs }) => toMs(durationMs)],
  ['upstream_ms', ({ upstreamMs }) => toMs(upstreamMs)],
  ['rules_position', ({ rulesPosition }) => rulesPosition],
  ['read', ({ read }) => read.join(' ')],
]

const FORMATS = {
  jsonl: {
    type: 'application/jsonl; charset=utf-8',
    header: '',
    toLine: (call: StoredToolCall) => `${JSON.stringify(showToolCall(call))}\n`,
  },
  csv: {
    type: 'text/csv; charset=utf-8',
    header: toCsvLine(CSV_COLUMNS.map(([name]) => name)),
    toLine: (call: StoredToolCall) => toCsvLine(CSV_COLUMNS.map(([, read]) => read(call))),
  },
}

const toMs = (ms: number) => Math.round(ms * 1000) / 1000

export function showToolCall(call: StoredToolCall): JsonObject {
  return {
    id: call.id,
    time: call.time,
    user_id: call.userId,
    key_id: call.keyId,
    group_ids: call.groups,
    session_id: call.sessionId ?? null,
    server: call.server,
    tool: call.tool,
    revision: call.revision ?? null,
    arguments_digest: call.argumentsDigest,
    verdict: call.verdict,
    error_code: call.errorCode ?? null,
    rules: call.rules,
    warnings: call.warnings,
    request_bytes: call.requestBytes,
    result_bytes: call.resultBytes,
    duration_ms: toMs(call.durationMs),
    upstream_ms: toMs(call.upstreamMs),
    rules_position: call.rulesPosition,
    read: call.read,
  }
}
