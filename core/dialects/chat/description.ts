import { type InferenceDescription, Type } from '../../contract/index.ts'
import { errorBodySchema } from '../../http/errors.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { chatRequestSchema } from './request-schema.ts'
import { ChatCompletion, ChatCompletionChunk } from './response-schemas.ts'

const messages = [{ role: 'user', content: 'Write a haiku about railways.' }]

const weather = {
  name: 'weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}

const StreamRecord = Type.Union([ChatCompletionChunk, errorBodySchema('openai')], {
  $id: 'ChatStreamRecord',
  description: 'A chunk, or the error that ends the stream.',
})

/** How `/openapi.json` describes `POST /v1/chat/completions`. */
export const chatDescription: InferenceDescription = {
  operationId: 'createChatCompletion',
  summary: "Creates a chat completion in OpenAI's format with the model chosen by rules or by the request.",
  tags: ['inference'],
  headers: inferenceHeaders,
  body: chatRequestSchema,
  examples: {
    automatic: { model: 'auto:cost', messages },
    named: { model: 'gpt-4o', messages, max_tokens: 100 },
    streamed: { model: 'auto:fast', messages, stream: true },
    tools: {
      model: 'anthropic:claude-haiku-4-5',
      messages: [{ role: 'user', content: 'How is the weather in Basel?' }],
      tools: [{ type: 'function', function: weather }],
    },
  },
  responses: {
    200: {
      description: 'The reply: a completion, or the records of a stream.',
      headers: replyHeaders,
      body: ChatCompletion,
      events: StreamRecord,
    },
  },
}
