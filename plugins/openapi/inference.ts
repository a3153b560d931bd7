import type { JsonObject } from '../../core/contract/index.ts'
import { chatRequestSchema } from '../../core/dialects/chat/request-schema.ts'
import { routeRequestSchema } from '../../core/dialects/route/dialect.ts'
import { inferenceErrors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { inHeader } from './parameters.ts'
import { anyObject, closed, integer, list, number, object, oneOf, orNull, ref, text } from './schema.ts'

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
