import type { JsonObject } from '../../core/contract/index.ts'
import { chatRequestSchema } from '../../core/dialects/chat/request-schema.ts'
import { routeRequestSchema } from '../../core/dialects/route/dialect.ts'
import {
  anyObject,
  arrayOf,
  boolean,
  closedObject,
  dataEnvelope,
  describeOperation,
  headerParameter,
  inferenceErrorResponses,
  integer,
  nullable,
  number,
  object,
  pathParameter,
  ref,
  string,
  stringEnum,
  timestamp,
  userErrorResponses,
} from './builders.ts'

const tag = 'inference'

/** The parameters of all inference endpoints. */
export const inferenceParameters = [
  headerParameter(
    'x-include-trace',
    'true',
    'If true, metadata.rule_trace in the response lists the outcome of every rule.',
  ),
]

const prompt = 'Write a haiku about railways.'
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
      summary:
        "Creates a chat completion in OpenAI's format with the model chosen by rules or by the request.",
      parameters: inferenceParameters,
      body: {
        schema: ref('ChatRequest'),
        examples: {
          automatic: { model: 'auto:cost', messages: [{ role: 'user', content: prompt }] },
          named: { model: 'gpt-4o', messages: [{ role: 'user', content: prompt }], max_tokens: 100 },
          streamed: { model: 'auto:fast', messages: [{ role: 'user', content: prompt }], stream: true },
          tools: {
            model: 'anthropic:claude-haiku-4-5',
            messages: [{ role: 'user', content: 'How is the weather in Basel?' }],
            tools: [{ type: 'function', function: weather }],
          },
        },
      },
      responses: { 200: ref('ChatCompletion'), ...inferenceErrorResponses('ChatError') },
      alternativeMediaType: 'text/event-stream',
    }),
  },
}

/** The paths of the direct routing address. */
export const routePaths: JsonObject = {
  '/route': {
    post: describeOperation({
      id: 'route',
      tag,
      summary: 'Answers a prompt with the best matching model; served on the direct routing address.',
      parameters: inferenceParameters,
      body: {
        schema: ref('RouteRequest'),
        examples: {
          automatic: { prompt, cost_priority: 'cost' },
          preferred: { prompt, model_preferences: ['gpt-4o', 'mistral-large-latest'], max_tokens: 50 },
        },
      },
      responses: { 200: ref('RouteResult'), ...inferenceErrorResponses('RouteError') },
    }),
  },
}

const completion = {
  id: string,
  object: { const: 'chat.completion' },
  created: integer,
  model: string,
  choices: arrayOf(object({ index: integer, message: ref('Message'), finish_reason: string })),
  'usage?': object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
}

export const inferenceSchemas: JsonObject = {
  ChatRequest: chatRequestSchema,
  RouteRequest: routeRequestSchema,
  Message: object({ role: string, content: nullable(string), 'tool_calls?': arrayOf(anyObject) }),
  ChatCompletion: object({
    ...completion,
    provider: string,
    latency_ms: integer,
    routing_mode: string,
    x_request_id: string,
    metadata: ref('AnswerMetadata'),
  }),
  RouteResult: object({
    ...completion,
    id: { type: 'string', pattern: '^tr_req_' },
    router_meta: closedObject({
      selected_provider: string,
      selected_model: string,
      routing_reason: string,
      cost_savings: { type: 'string', pattern: '%$' },
      response_time_ms: integer,
      estimated_cost: number,
      routing_score: { type: 'number', minimum: 0, maximum: 1 },
    }),
    metadata: ref('AnswerMetadata'),
  }),
  AnswerMetadata: object({
    rules_position: integer,
    'warnings?': arrayOf(ref('Warning')),
    'rule_trace?': arrayOf(ref('RuleTraceEntry')),
  }),
  Warning: closedObject({ code: string, message: string }),
  RuleTraceEntry: closedObject({
    kind: stringEnum('routing', 'firewall'),
    rule_id: integer,
    name: string,
    action: string,
    outcome: stringEnum('applied', 'skipped'),
    'reason?': string,
  }),
}

export const modelsPaths: JsonObject = {
  '/v1/models': {
    get: describeOperation({
      id: 'listModels',
      tag: 'models',
      summary: 'Lists the routing modes and the available models.',
      responses: {
        200: closedObject({ object: { const: 'list' }, data: arrayOf(ref('Model')) }),
        ...userErrorResponses('ChatError'),
      },
    }),
  },
  '/v1/models/{id}': {
    parameters: [pathParameter('id', 'gpt-4o', 'The name of a model or routing mode.')],
    get: describeOperation({
      id: 'readModel',
      tag: 'models',
      summary: 'Returns a model.',
      responses: { 200: ref('Model'), ...userErrorResponses('ChatError', 404) },
    }),
  },
}

export const modelsSchemas: JsonObject = {
  Model: closedObject({
    id: string,
    object: { const: 'model' },
    created: integer,
    owned_by: string,
    'provider?': string,
    'aliases?': arrayOf(string),
    'context?': integer,
    'max_output?': integer,
    'price?': ref('Price'),
    'quality?': number,
    'capabilities?': closedObject({
      tools: boolean,
      images: boolean,
      json: stringEnum('none', 'object', 'schema'),
    }),
  }),
  Price: {
    ...closedObject({
      input: number,
      'cached?': number,
      'cache_write?': number,
      output: number,
      'above?': anyObject,
    }),
    description: 'In USD per million tokens.',
  },
}

export const requestsPaths: JsonObject = {
  '/v1/requests/{id}': {
    parameters: [
      pathParameter('id', 'req_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The x_request_id of one of your recent requests.'),
    ],
    get: describeOperation({
      id: 'readRequest',
      tag: 'inference',
      summary: 'Returns the record of a request: applied rules, route and provider calls.',
      responses: { 200: dataEnvelope(ref('RequestRecord')), ...userErrorResponses('Error', 404) },
    }),
  },
}

export const requestsSchemas: JsonObject = {
  RequestRecord: closedObject({
    x_request_id: string,
    time: timestamp,
    outcome: stringEnum('answered', 'failed'),
    'error?': ref('RecordedError'),
    requested_model: nullable(string),
    routing_mode: nullable(string),
    routing_reason: nullable(string),
    provider: nullable(string),
    model: nullable(string),
    attempts: arrayOf(closedObject({ provider: string, model: string, outcome: string, ms: integer })),
    rules_position: integer,
    rule_trace: arrayOf(ref('RuleTraceEntry')),
    warnings: arrayOf(ref('Warning')),
  }),
  RecordedError: object({ code: string, http_status: integer, 'message?': string }),
}
