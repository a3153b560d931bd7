import { type Dialect, type InferenceDescription, type TProperties, Type } from '../../core/contract/index.ts'
import { inferenceHeaders, replyHeaders } from '../../core/dialects/inference-description.ts'
import { Text } from '../../core/dialects/schema-types.ts'
import { buildMessage, MESSAGE_PING, streamMessageEvents } from './message.ts'
import { parseMessagesRequest, toMessagesPath } from './parse-request.ts'
import { messagesRequestSchema } from './request-schema.ts'
import { MessageSchema, MessageStreamEvent } from './response-schemas.ts'

const messages = [{ role: 'user', content: 'Write a haiku about railways.' }]

const weather = {
  name: 'weather',
  description: 'The weather in a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}

/** Headers of Anthropic's API, which are passed on to Anthropic. */
export const anthropicHeaders: TProperties = {
  'anthropic-version': Type.Optional(
    Type.String({ description: 'The version of the API. Default: 2023-06-01.', examples: ['2023-06-01'] }),
  ),
  'anthropic-beta': Type.Optional(
    Type.String({
      description: 'Features in beta, separated by commas.',
      examples: ['interleaved-thinking-2025-05-14'],
    }),
  ),
}

/** How `/openapi.json` describes `POST /v1/messages`. */
const messagesDescription: InferenceDescription = {
  operationId: 'createMessage',
  summary: "Creates a message in Anthropic's format with the model chosen by rules or by the request.",
  tags: ['inference'],
  headers: { ...inferenceHeaders, ...anthropicHeaders },
  body: messagesRequestSchema,
  examples: {
    automatic: { model: 'auto:cost', max_tokens: 1024, messages },
    named: { model: 'claude-haiku-4-5', max_tokens: 1024, system: 'Answer in verse.', messages },
    streamed: { model: 'auto:fast', max_tokens: 1024, messages, stream: true },
    tools: {
      model: 'gpt-4o',
      max_tokens: 1024,
      messages: [{ role: 'user', content: 'How is the weather in Basel?' }],
      tools: [weather],
      tool_choice: { type: 'any' },
    },
  },
  responses: {
    200: {
      description: 'The reply: a message, or the events of a stream.',
      headers: { ...replyHeaders, 'request-id': Text('Id of the request.') },
      body: MessageSchema,
      events: MessageStreamEvent,
    },
  },
}

/** `POST /v1/messages`: Anthropic's Messages API. */
export const messagesDialect: Dialect = {
  parseRequest: (body, { headers }) => parseMessagesRequest(body, headers),
  writeWhole: buildMessage,
  writeStream: streamMessageEvents,
  hasErrorEvent: true,
  keepAlive: MESSAGE_PING,
  parameterNames: {
    response_format: 'output_config.format',
    stop: 'stop_sequences',
    user: 'metadata.user_id',
    reasoning_effort: 'output_config.effort',
  },
  toCallerPath: (path, _, body) => toMessagesPath(path, body),
  errorStyle: 'anthropic',
  description: messagesDescription,
}
