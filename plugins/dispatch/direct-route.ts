import {
  type ChatRequest,
  type Dialect,
  GatewayError,
  type InferenceDescription,
  type JsonObject,
  MODE_SPELLINGS,
  parseMode,
  type RepliedExchange,
  StringEnum,
  Type,
  type Usage,
} from '../../core/contract/index.ts'
import { checkChatResponseFormat, checkToolChoice } from '../../core/dialects/check-request.ts'
import {
  inferenceHeaders,
  ResponseMetadata,
  replyHeaders,
  SignalboxSchema,
} from '../../core/dialects/inference-description.ts'
import { wholeReply } from '../../core/dialects/reply-parts.ts'
import { OpenObject, Text } from '../../core/dialects/schema-types.ts'
import { costOf } from '../../core/prices/cost.ts'
import { relatedId } from '../../core/util/ids.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { buildCompletionFromParts } from './chat/completion.ts'
import { chatToolSchema } from './chat/request-schema.ts'
import { completionFields } from './chat/response-schemas.ts'

/** The body of `POST /route` (docs/api.md, "Direct routing"). Unknown fields are ignored. */
export const routeRequestSchema = Type.Object(
  {
    prompt: Type.String({ minLength: 1, description: 'The text of the user.' }),
    model_preferences: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: 'Models to try first, best first.' }),
    ),
    temperature: Type.Optional(
      Type.Number({ minimum: 0, maximum: 2, default: 0.7, description: 'Randomness.' }),
    ),
    max_tokens: Type.Optional(
      Type.Integer({ minimum: 1, default: 1000, description: 'Maximum length of the reply, in tokens.' }),
    ),
    tools: Type.Optional(Type.Array(chatToolSchema, { description: 'Tools that the model may call.' })),
    tool_choice: Type.Optional(
      Type.String({ minLength: 1, description: 'auto, none, required, or the name of a function.' }),
    ),
    response_format: Type.Optional(
      OpenObject({ type: Text('The format, such as json_object.') }, { description: 'Format of the reply.' }),
    ),
    user_id: Type.Optional(Text('An id of your user.')),
    cost_priority: Type.Optional(
      StringEnum(MODE_SPELLINGS, { default: 'balanced', description: 'What to optimize.' }),
    ),
  },
  { $id: 'RouteRequest', description: 'A request of direct routing.' },
)

const RouterMeta = OpenObject(
  {
    selected_provider: Text('The provider that answered.'),
    selected_model: Text('The model that answered.'),
    routing_reason: Text('Why the model was selected.'),
    cost_savings: Type.String({
      pattern: '%$',
      description: 'Percentage saved against the most expensive option, such as 87.5%.',
    }),
    response_time_ms: Type.Integer({ minimum: 0, description: 'Total response time, in milliseconds.' }),
    estimated_cost: Type.Number({ minimum: 0, description: 'Estimated cost in USD.' }),
    routing_score: Type.Number({ minimum: 0, maximum: 1, description: 'Confidence, from 0 to 1.' }),
  },
  { $id: 'RouterMeta', description: 'How the model was selected.' },
)

const RouteResult = OpenObject(
  {
    id: Type.String({ pattern: '^tr_req_', description: 'Id of the result.' }),
    object: Type.Literal('chat.completion', { description: 'Always chat.completion.' }),
    ...completionFields,
    router_meta: RouterMeta,
    metadata: ResponseMetadata,
    signalbox: SignalboxSchema,
  },
  { $id: 'RouteResult', description: 'A reply of direct routing.' },
)

const prompt = 'Write a haiku about railways.'

/** How `/openapi.json` describes `POST /route`. */
const routeDescription: InferenceDescription = {
  operationId: 'route',
  summary: 'Answers a prompt with the best matching model; served on the direct routing address.',
  tags: ['inference'],
  listener: 'direct',
  headers: inferenceHeaders,
  body: routeRequestSchema,
  examples: {
    automatic: { prompt, cost_priority: 'cost' },
    preferred: { prompt, model_preferences: ['gpt-4o', 'mistral-large-latest'], max_tokens: 50 },
  },
  responses: { 200: { description: 'The reply.', headers: replyHeaders, body: RouteResult } },
}

/** Builds a direct routing result (docs/api.md, "Direct routing result"). */
export function buildRouteResult(exchange: RepliedExchange): JsonObject {
  const { target, route, usage, costUsd, startedAt, decoration } = exchange
  const {
    created,
    model,
    choices,
    usage: completionUsage,
  } = buildCompletionFromParts(wholeReply(exchange).parts)
  const cost = costUsd ?? 0
  const { metadata, signalbox } = decoration?.last() ?? {}
  return {
    id: relatedId('tr_req_', exchange.id),
    object: 'chat.completion',
    created,
    model: model || (target?.model ?? ''),
    choices,
    usage: completionUsage,
    router_meta: {
      selected_provider: target?.provider ?? 'signalbox',
      selected_model: target?.model ?? model,
      routing_reason: route?.reason ?? 'A plugin answered the request.',
      cost_savings: formatSavings(cost, maxCandidateCost(exchange, usage)),
      response_time_ms: Math.round(performance.now() - startedAt),
      estimated_cost: cost,
      routing_score: route?.score ?? 1,
    },
    ...(decoration && { metadata, signalbox }),
  }
}

/** Returns what the most expensive candidate would have cost for the same usage, in USD. */
function maxCandidateCost({ route }: RepliedExchange, usage: Usage | undefined): number {
  const candidates = route?.candidates() ?? []
  return usage === undefined ? 0 : Math.max(0, ...candidates.map((model) => costOf(model, usage)))
}

/** Formats the savings as a percentage with one decimal, such as `87.5%`. */
function formatSavings(cost: number, maxCost: number): string {
  const share = maxCost > cost ? 1 - cost / maxCost : 0
  return `${(100 * share).toFixed(1)}%`
}

/** `POST /route`, which has its own address and does not support streaming. */
export const routeDialect: Dialect = {
  parseRequest(body, { headers }) {
    checkContentType(headers['content-type'])
    return parseRouteRequest(body)
  },
  parsePreferences: parseModelPreferences,
  defaults: ['temperature', 'max_tokens'],
  writeWhole: buildRouteResult,
  writeStream() {
    throw new GatewayError('internal_error', 'Direct routing does not support streaming.')
  },
  parameterNames: { messages: 'prompt', user: 'user_id', tool_choice: 'tool_choice' },
  errorStyle: 'route',
  description: routeDescription,
}

const parseBody = createLazyParser(routeRequestSchema)

/** The interface requires JSON to be named as such. A missing header is accepted. */
function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined || /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)) return
  const message = 'The Content-Type of the request is not supported. Use application/json.'
  throw new GatewayError('unsupported_media_type', message)
}

/** Documented in docs/api.md, "Direct routing". */
const DEFAULTS = { temperature: 0.7, max_tokens: 1000, cost_priority: 'balanced' }

/** Converts the body of `POST /route` to a chat request. Throws 400 with the invalid parameter. */
export function parseRouteRequest(body: JsonObject): ChatRequest {
  const { prompt, temperature, max_tokens, tools, tool_choice, response_format, user_id, cost_priority } = {
    ...DEFAULTS,
    ...parseBody(body),
  }
  const request: ChatRequest = {
    model: `auto:${parseMode(cost_priority) ?? 'balance'}`,
    messages: [{ role: 'user', content: prompt }],
    temperature,
    max_tokens,
    ...(tools && tools.length > 0 && { tools }),
    ...(tool_choice !== undefined && { tool_choice: toToolChoice(tool_choice) }),
    ...(response_format && { response_format }),
    ...(user_id !== undefined && { user: user_id }),
  }
  checkToolChoice(request)
  checkChatResponseFormat(request)
  return request
}

/** Returns the models to try before the automatic choice, in the caller's order. */
export function parseModelPreferences(body: JsonObject): readonly string[] {
  return parseBody(body).model_preferences ?? []
}

/** Converts a tool name to a function choice. `auto`, `none` and `required` are kept. */
function toToolChoice(choice: string): string | JsonObject {
  return ['auto', 'none', 'required'].includes(choice)
    ? choice
    : { type: 'function', function: { name: choice } }
}
