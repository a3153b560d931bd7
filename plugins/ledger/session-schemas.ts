import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, NextCursor, pageQuery, Timestamp } from '../../core/http/schemas.ts'
import { SESSION_ID_PATTERN } from '../../core/http/session-header.ts'
import { nullableText, range, TokensSchema } from './schemas.ts'
import { TOOL_CALL_VERDICTS } from './store/tool-calls.ts'

const sessionFields = {
  session_id: Type.String({ description: 'The session, as the client names it.' }),
  user_id: Count('Id of the user whose session it is.'),
  started_at: Timestamp('When its first request or call came.'),
  last_active_at: Timestamp('When its last request or call came.'),
  requests: Count('Requests to models.'),
  failed_requests: Count('Requests without an answer.'),
  blocked_requests: Count('Failed requests that a rule has refused.'),
  tool_calls: Count('Calls of tools.'),
  refused_tool_calls: Count(
    'Calls of tools that were not made, or not answered: denied, hidden, blocked and not_served.',
  ),
  tokens: TokensSchema,
  cost_usd: Type.Number({ description: 'Cost of the requests in US dollars.' }),
  unknown_costs: Count('Requests whose cost is unknown, and not part of cost_usd.'),
}

const SessionSchema = Type.Object(sessionFields, {
  $id: 'AgentSession',
  description: 'What one agent did: requests to models and calls of tools with the same session.',
})

const SessionRequest = Type.Object(
  {
    kind: StringEnum(['request'], { description: 'A request to a model.' }),
    id: Type.String({ description: 'The x_request_id of the request.' }),
    time: Timestamp('When the request arrived.'),
    endpoint: Type.String({ description: 'Path of the endpoint.' }),
    requested_model: nullableText('The model as the caller named it; null if it named none.'),
    model: nullableText('The model that replied.'),
    provider: nullableText('The provider that replied.'),
    status: Type.Integer({ description: 'HTTP status.' }),
    error_code: nullableText('Why the request failed; null if it was answered.'),
    tokens: Nullable(TokensSchema, { description: 'Tokens; null if no provider reported them.' }),
    cost_usd: Nullable(Type.Number(), { description: 'Cost in US dollars; null if it is unknown.' }),
    latency_ms: Count('Milliseconds until the response ended.'),
  },
  { $id: 'SessionRequest', description: 'A request to a model, as a step of a session.' },
)

const SessionToolCall = Type.Object(
  {
    kind: StringEnum(['tool_call'], { description: 'A call of a tool.' }),
    id: Type.String({ description: 'Id of the call.' }),
    time: Timestamp('When the tool was called.'),
    server: Type.String({ description: 'Name of the tool server.' }),
    tool: Type.String({ description: 'Name of the tool.' }),
    verdict: StringEnum(TOOL_CALL_VERDICTS, { description: 'What became of the call.' }),
    error_code: nullableText('Code of the error that the caller got.'),
    request_bytes: Count('Bytes of the arguments.'),
    result_bytes: Count('Bytes of the result.'),
    duration_ms: Type.Number({ description: 'Milliseconds until the result was sent.' }),
  },
  { $id: 'SessionToolCall', description: 'A call of a tool, as a step of a session.' },
)

const SessionStepSchema = Type.Union([SessionRequest, SessionToolCall], {
  $id: 'SessionStep',
  description: 'A request to a model or a call of a tool.',
})

export const SessionDetails = Type.Object(
  {
    data: Type.Object(
      { ...sessionFields, steps: Type.Array(SessionStepSchema, { description: 'What happened, in order.' }) },
      { $id: 'AgentSessionWithSteps', description: 'A session: sums of all of it, and a page of its steps.' },
    ),
    next_cursor: NextCursor,
  },
  { $id: 'AgentSessionDetails', description: 'A session with a page of its steps.' },
)

export const AgentSessionPage = Type.Object(
  {
    data: Type.Array(SessionSchema, { description: 'The sessions; the one that was active last is first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'AgentSessionPage', description: 'A page of sessions.' },
)

export const SESSION_PAGE = { default: 50, max: 200 }
export const STEP_PAGE = { default: 100, max: 500 }

export const sessionQuery = {
  ...range,
  ...pageQuery(SESSION_PAGE, 'c2Vzc2lvbnM6MTc3MjM1NzQwMDAwMCA3IHJ1bi03'),
}

export const stepQuery = pageQuery(STEP_PAGE, 'c3RlcHM6NDA5NiAxNzcyMzU3NDAwMDAwIDk')

export const sessionId = Type.String({
  pattern: SESSION_ID_PATTERN,
  description: 'The session, as the client names it.',
  examples: ['run-7'],
})
