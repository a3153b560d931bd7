import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  Nullable,
  operator,
  type Static,
  StringEnum,
  type TObject,
  Type,
  user,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/pages.ts'
import {
  Count,
  NextCursor,
  pageQuery,
  RuleOriginSchema,
  Timestamp,
  WarningSchema,
} from '../../core/http/schemas.ts'
import type { LedgerReader } from './reader.ts'
import { range, requestId, sessionFilter, userFilter } from './schemas.ts'
import { type StoredToolCall, TOOL_CALL_VERDICTS, type ToolCallFilter } from './store/tool-calls.ts'
import { parseTimeRange } from './time-parameter.ts'

const ToolCallSchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the request, req_….' }),
    time: Timestamp('When the tool was called.'),
    user_id: Count('Id of the user.'),
    key_id: Type.String({ description: 'Id of the key; empty for a token of an identity provider.' }),
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

const PAGE = { default: 50, max: 500 }

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description, examples: [example] }))

const toolCallQuery = {
  server: text('Name of the tool server.', 'files'),
  tool: text('Name of the tool.', 'read_file'),
  verdict: Type.Optional(StringEnum(TOOL_CALL_VERDICTS, { description: 'What became of the calls.' })),
  session_id: sessionFilter,
  order: Type.Optional(
    StringEnum(['newest', 'oldest'], {
      default: 'newest',
      description: 'Which calls come first. With oldest, a session reads as it went on.',
    }),
  ),
  ...range,
  ...pageQuery(PAGE, 'YmVmb3JlOjk'),
}

type ToolCallQueryValues = Static<TObject<typeof toolCallQuery>>

/** Creates the endpoints that read calls of tools. */
export function createToolCallEndpoints(reader: LedgerReader): readonly Endpoint[] {
  async function list(query: ToolCallQueryValues, caller: ToolCallFilter) {
    const { server, tool, verdict, session_id, order, cursor } = query
    const limit = query.limit ?? PAGE.default
    const filter = {
      ...(server !== undefined && { server }),
      ...(tool !== undefined && { tool }),
      ...(verdict !== undefined && { verdict }),
      ...(session_id !== undefined && { sessionId: session_id }),
      ...parseTimeRange(query),
      ...caller,
    }
    const isAscending = order === 'oldest'
    const kind = isAscending ? 'after' : 'before'
    const start = cursor === undefined ? {} : { [kind]: decodeCursor(kind, cursor) }
    const ordered = isAscending ? { isAscending } : {}
    const found = await reader.listToolCalls({ filter, limit: limit + 1, ...start, ...ordered })
    const page = found.slice(0, limit)
    const last = found.length > limit ? page.at(-1) : undefined
    const next_cursor = last === undefined ? null : encodeCursor(kind, last.number)
    return { status: 200, body: { data: page.map(showToolCall), next_cursor } }
  }

  async function read(id: string, caller: ToolCallFilter) {
    const [call] = await reader.listToolCalls({ filter: { id, ...caller }, limit: 1 })
    if (call === undefined)
      throw new GatewayError('not_found', `Tool call ${id} was not found or is no longer recorded.`)
    return { status: 200, body: { data: showToolCall(call) } }
  }

  const common = { method: 'GET', tags: ['tools'], errors: ['ledger_unavailable'] } as const
  const pages = { 200: { description: 'A page of calls.', body: ToolCallPage } }
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
      query: { ...toolCallQuery, user: userFilter },
      responses: pages,
      handle: ({ query, scope }) =>
        list(query, {
          ...(query.user !== undefined && { userId: query.user }),
          ...(scope && { anyGroup: scope.groups() }),
        }),
    }),
    endpoint({
      ...common,
      path: '/admin/tool-calls/{id}',
      access: operator('auditor', 'filtered'),
      params: { id: requestId },
      operationId: 'readAnyToolCall',
      summary: 'Returns a call of a tool.',
      responses: record,
      handle: ({ params: { id }, scope }) => read(id, scope ? { anyGroup: scope.groups() } : {}),
    }),
  ]
}

export function showToolCall(call: StoredToolCall): JsonObject {
  return {
    id: call.id,
    time: call.time,
    user_id: call.userId,
    key_id: call.keyId,
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
    duration_ms: Math.round(call.durationMs * 1000) / 1000,
    upstream_ms: Math.round(call.upstreamMs * 1000) / 1000,
    rules_position: call.rulesPosition,
    read: call.read,
  }
}
