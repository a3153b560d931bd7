import {
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  type OperatorScope,
  operator,
  type Static,
  type TObject,
  user,
} from '../../core/contract/index.ts'
import { decodeTextCursor, encodeCursor } from '../../core/http/pages.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import type { LedgerReader } from './reader.ts'
import { userFilter } from './schemas.ts'
import {
  AgentSessionPage,
  SESSION_PAGE,
  SessionDetails,
  STEP_PAGE,
  sessionId,
  sessionQuery,
  stepQuery,
} from './session-schemas.ts'
import { showTokens, timeOf, toDollars } from './show-record.ts'
import type {
  SessionPosition,
  SessionQuery,
  SessionStep,
  StepPosition,
  StoredSession,
} from './store/read-sessions.ts'
import { parseTimeRange } from './time-parameter.ts'
import { showToolCall } from './tool-call-endpoints.ts'

type Caller = Pick<SessionQuery, 'userId' | 'anyGroup'>

/** Creates the endpoints that read sessions of agents. */
export function createSessionEndpoints(reader: LedgerReader): readonly Endpoint[] {
  async function list(query: Static<TObject<typeof sessionQuery>>, caller: Caller) {
    const { limit = SESSION_PAGE.default, cursor } = query
    const before = cursor === undefined ? {} : { before: decodeSessionCursor(cursor) }
    const found = await reader.listSessions({ ...parseTimeRange(query), ...caller, ...before, limit })
    const next_cursor = found.next === undefined ? null : encodeSessionCursor(found.next)
    return { status: 200, body: { data: found.sessions.map(showSession), next_cursor } }
  }

  async function read(session: string, query: Static<TObject<typeof stepQuery>>, caller: Caller) {
    const { limit = STEP_PAGE.default, cursor } = query
    const after = cursor === undefined ? {} : { after: decodeStepCursor(cursor) }
    const { sessions } = await reader.listSessions({ session, ...caller, limit: 2 })
    const [found, other] = sessions
    if (found === undefined)
      throw new GatewayError('not_found', `Session ${session} was not found or is no longer recorded.`)
    if (other !== undefined)
      throw invalidParameterError('user', `Several users have a session ${session}. Give the user.`)
    const { userId } = found
    const { steps, next } = await reader.listSteps({ ...caller, session, userId, ...after, limit })
    const next_cursor = next === undefined ? null : encodeStepCursor(next)
    return { status: 200, body: { data: { ...showSession(found), steps: steps.map(showStep) }, next_cursor } }
  }

  const ofOperator = (id: number | undefined, scope: OperatorScope | undefined): Caller => ({
    ...(id !== undefined && { userId: id }),
    ...(scope && { anyGroup: scope.groups() }),
  })

  const common = { method: 'GET', tags: ['tools'], errors: ['ledger_unavailable'] } as const
  const pages = { 200: { description: 'A page of sessions.', body: AgentSessionPage } }
  const details = { 200: { description: 'The session.', body: SessionDetails } }

  return [
    endpoint({
      ...common,
      path: '/v1/sessions',
      access: user(),
      operationId: 'listAgentSessions',
      summary: 'Lists the sessions of your agents. The one that was active last is first.',
      query: sessionQuery,
      responses: pages,
      handle: ({ query, account: { userId } }) => list(query, { userId }),
    }),
    endpoint({
      ...common,
      path: '/v1/sessions/{id}',
      access: user(),
      params: { id: sessionId },
      operationId: 'readAgentSession',
      summary: 'Returns one of your sessions: what happened in it, in order, and what it cost.',
      query: stepQuery,
      responses: details,
      handle: ({ params: { id }, query, account: { userId } }) => read(id, query, { userId }),
    }),
    endpoint({
      ...common,
      path: '/admin/sessions',
      access: operator('auditor', 'filtered'),
      operationId: 'listAllAgentSessions',
      summary: 'Lists the sessions of all users. The one that was active last is first.',
      query: { user: userFilter, ...sessionQuery },
      responses: pages,
      handle: ({ query, scope }) => list(query, ofOperator(query.user, scope)),
    }),
    endpoint({
      ...common,
      path: '/admin/sessions/{id}',
      access: operator('auditor', 'filtered'),
      params: { id: sessionId },
      operationId: 'readAnyAgentSession',
      summary: 'Returns a session: what happened in it, in order, and what it cost.',
      description: 'Users may use the same names. If several have this session, give the user.',
      query: { user: userFilter, ...stepQuery },
      responses: details,
      handle: ({ params: { id }, query, scope }) => read(id, query, ofOperator(query.user, scope)),
    }),
  ]
}

function showSession(session: StoredSession): JsonObject {
  return {
    session_id: session.session,
    user_id: session.userId,
    started_at: new Date(session.startedAt).toISOString(),
    last_active_at: new Date(session.lastActiveAt).toISOString(),
    requests: session.requests,
    failed_requests: session.failed,
    blocked_requests: session.blocked,
    tool_calls: session.toolCalls,
    refused_tool_calls: session.refusedToolCalls,
    tokens: showTokens(session.tokens),
    cost_usd: toDollars(session.cost),
    unknown_costs: session.unknownCosts,
  }
}

function showStep(step: SessionStep): JsonObject {
  if (step.kind === 'tool_call') {
    const { id, time, server, tool, verdict, error_code, ...call } = showToolCall(step.call)
    const { request_bytes, result_bytes, duration_ms } = call
    const sizes = { request_bytes, result_bytes, duration_ms }
    return { kind: step.kind, id, time, server, tool, verdict, error_code, ...sizes }
  }
  const { record } = step
  return {
    kind: step.kind,
    id: record.requestId,
    time: timeOf(record),
    endpoint: record.endpoint,
    requested_model: record.requestedModel,
    model: record.model,
    provider: record.provider,
    status: record.status,
    error_code: record.error?.code ?? null,
    tokens: record.tokens && showTokens(record.tokens),
    cost_usd: record.cost === null ? null : toDollars(record.cost),
    latency_ms: record.latencyMs,
  }
}

function encodeSessionCursor({ lastSeen, userId, session }: SessionPosition): string {
  return encodeCursor('sessions', `${lastSeen} ${userId} ${session}`)
}

function decodeSessionCursor(cursor: string): SessionPosition {
  const form = /^(\d{1,15}) (\d{1,15}) ([^\0]{1,300})$/
  const [, lastSeen, userId, session] = decodeTextCursor('sessions', cursor, form)
  return { lastSeen: Number(lastSeen), userId: Number(userId), session: String(session) }
}

function encodeStepCursor({ request, callTime, call }: StepPosition): string {
  return encodeCursor('steps', `${request} ${callTime} ${call}`)
}

function decodeStepCursor(cursor: string): StepPosition {
  const form = /^(\d{1,16}) (\d{1,15}) (\d{1,15})$/
  const [, request, callTime, call] = decodeTextCursor('steps', cursor, form)
  return { request: Number(request), callTime: Number(callTime), call: Number(call) }
}
