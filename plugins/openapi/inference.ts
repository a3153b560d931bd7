import type { JsonObject } from '../../core/contract/index.ts'
import { chatRequestSchema } from '../../core/dialects/chat/request-schema.ts'
import { routeRequestSchema } from '../../core/dialects/route/dialect.ts'
import {
  anyObject,
  closed,
  data,
  describeOperation,
  flag,
  inferenceErrors,
  inHeader,
  inPath,
  integer,
  list,
  number,
  object,
  oneOf,
  orNull,
  ref,
  text,
  time,
  userErrors,
} from './builders.ts'

const tag = 'inference'

/** What every inference endpoint takes besides its body. */
export const inferenceParameters = [
  inHeader('x-include-trace', 'true', 'true: metadata.rule_trace says what became of every rule.'),
]

const said = 'Write a haiku about railways.'
const weather = {
  name: 'weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

export const inferencePaths: JsonObject = {
  '/v1/chat/completions': {
    post: describeOperation({
      id: 'createChatCompletion',
      tag,
      summary: 'Answers a chat, as OpenAI does, by the model that the rules or the request choose.',
      parameters: inferenceParameters,
      body: {
        schema: ref('ChatRequest'),
        examples: {
          automatic: { model: 'auto:cost', messages: [{ role: 'user', content: said }] },
          named: { model: 'gpt-4o', messages: [{ role: 'user', content: said }], max_tokens: 100 },
          streamed: { model: 'auto:fast', messages: [{ role: 'user', content: said }], stream: true },
          tools: {
            model: 'anthropic:claude-haiku-4-5',
            messages: [{ role: 'user', content: 'How is the weather in Basel?' }],
            tools: [{ type: 'function', function: weather }],
          },
        },
      },
      answers: { 200: ref('ChatCompletion'), ...inferenceErrors('ChatError') },
      alsoAs: 'text/event-stream',
    }),
  },
}

/** What the direct-routing address serves. */
export const routePaths: JsonObject = {
  '/route': {
    post: describeOperation({
      id: 'route',
      tag,
      summary: 'Answers a prompt by the model that suits it best; on the direct-routing address.',
      parameters: inferenceParameters,
      body: {
        schema: ref('RouteRequest'),
        examples: {
          automatic: { prompt: said, cost_priority: 'cost' },
          preferred: { prompt: said, model_preferences: ['gpt-4o', 'mistral-large-latest'], max_tokens: 50 },
        },
      },
      answers: { 200: ref('RouteResult'), ...inferenceErrors('RouteError') },
    }),
  },
}

const completion = {
  id: text,
  object: { const: 'chat.completion' },
  created: integer,
  model: text,
  choices: list(object({ index: integer, message: ref('Message'), finish_reason: text })),
  'usage?': object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
}

export const inferenceSchemas: JsonObject = {
  ChatRequest: chatRequestSchema,
  RouteRequest: routeRequestSchema,
  Message: object({ role: text, content: orNull(text), 'tool_calls?': list(anyObject) }),
  ChatCompletion: object({
    ...completion,
    provider: text,
    latency_ms: integer,
    routing_mode: text,
    x_request_id: text,
    metadata: ref('AnswerMetadata'),
  }),
  RouteResult: object({
    ...completion,
    id: { type: 'string', pattern: '^tr_req_' },
    router_meta: closed({
      selected_provider: text,
      selected_model: text,
      routing_reason: text,
      cost_savings: { type: 'string', pattern: '%$' },
      response_time_ms: integer,
      estimated_cost: number,
      routing_score: { type: 'number', minimum: 0, maximum: 1 },
    }),
    metadata: ref('AnswerMetadata'),
  }),
  AnswerMetadata: object({
    rules_position: integer,
    'warnings?': list(ref('Warning')),
    'rule_trace?': list(ref('RuleTraceEntry')),
  }),
  Warning: closed({ code: text, message: text }),
  RuleTraceEntry: closed({
    kind: oneOf('routing', 'firewall'),
    rule_id: integer,
    name: text,
    action: text,
    outcome: oneOf('applied', 'skipped'),
    'reason?': text,
  }),
}

export const modelsPaths: JsonObject = {
  '/v1/models': {
    get: describeOperation({
      id: 'listModels',
      tag: 'models',
      summary: 'Lists the routing modes and the models that are served.',
      answers: {
        200: closed({ object: { const: 'list' }, data: list(ref('Model')) }),
        ...userErrors('ChatError'),
      },
    }),
  },
  '/v1/models/{id}': {
    parameters: [inPath('id', 'gpt-4o', 'The name of a model or of a routing mode.')],
    get: describeOperation({
      id: 'readModel',
      tag: 'models',
      summary: 'Shows a model.',
      answers: { 200: ref('Model'), ...userErrors('ChatError', 404) },
    }),
  },
}

export const modelsSchemas: JsonObject = {
  Model: closed({
    id: text,
    object: { const: 'model' },
    created: integer,
    owned_by: text,
    'provider?': text,
    'aliases?': list(text),
    'context?': integer,
    'max_output?': integer,
    'price?': ref('Price'),
    'quality?': number,
    'capabilities?': closed({ tools: flag, images: flag, json: oneOf('none', 'object', 'schema') }),
  }),
  Price: {
    ...closed({
      input: number,
      'cached?': number,
      'cache_write?': number,
      output: number,
      'above?': anyObject,
    }),
    description: 'USD per million tokens',
  },
}

export const requestsPaths: JsonObject = {
  '/v1/requests/{id}': {
    parameters: [
      inPath('id', 'req_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The x_request_id of one of your last requests.'),
    ],
    get: describeOperation({
      id: 'readRequest',
      tag: 'inference',
      summary: 'Shows what became of a request: the rules, the route, the calls to providers.',
      answers: { 200: data(ref('RequestRecord')), ...userErrors('Error', 404) },
    }),
  },
}

export const requestsSchemas: JsonObject = {
  RequestRecord: closed({
    x_request_id: text,
    time,
    outcome: oneOf('answered', 'failed'),
    'error?': ref('RecordedError'),
    requested_model: orNull(text),
    routing_mode: orNull(text),
    routing_reason: orNull(text),
    provider: orNull(text),
    model: orNull(text),
    attempts: list(closed({ provider: text, model: text, outcome: text, ms: integer })),
    rules_position: integer,
    rule_trace: list(ref('RuleTraceEntry')),
    warnings: list(ref('Warning')),
  }),
  RecordedError: object({ code: text, http_status: integer, 'message?': text }),
}
