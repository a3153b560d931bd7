import {
  type ChatRequest,
  type Dialect,
  GatewayError,
  type InferenceDescription,
  isJsonObject,
  type JsonObject,
  Type,
} from '../../../core/contract/index.ts'
import { decodeCarriedReasoning } from '../../../core/dialects/carried-reasoning.ts'
import {
  checkChatResponseFormat,
  checkToolCalls,
  checkToolChoice,
  withCallArguments,
} from '../../../core/dialects/check-request.ts'
import { inferenceHeaders, replyHeaders } from '../../../core/dialects/inference-description.ts'
import { withReplyImages } from '../../../core/dialects/reply-parts.ts'
import { errorBodySchema } from '../../../core/http/errors.ts'
import { createLazyParser } from '../../../core/util/json-schema.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
  parseResponsesWarnings,
} from '../../../providers/shared/responses-format/parse-request.ts'
import { buildChatCompletion } from './completion.ts'
import { streamChatChunks } from './completion-stream.ts'
import {
  offersFormerFunctions,
  toChatForm,
  toFormerCompletion,
  toFormerPath,
  toFormerStream,
  toTools,
} from './other-forms.ts'
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
const chatDescription: InferenceDescription = {
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

/**
 * `POST /v1/chat/completions`. Also takes a body of the Responses API, which Cursor sends there, and answers
 * it in the form of chat completions.
 */
export const chatDialect: Dialect = {
  parseRequest(body) {
    if (isResponsesBody(body)) return parseResponsesForm(body)
    try {
      return parseChatRequest(body)
    } catch (error) {
      const { param } = GatewayError.isInstance(error) ? error.details : {}
      if (param === undefined || !offersFormerFunctions(body)) throw error
      throw (error as GatewayError).withParam(toFormerPath(param))
    }
  },
  parseWarnings: (body) => (isResponsesBody(body) ? parseResponsesWarnings(body) : []),
  defaults: ['parallel_tool_calls'],
  writeWhole(exchange, { request: { body } }) {
    const completion = buildChatCompletion(exchange)
    return isJsonObject(body) && offersFormerFunctions(body) ? toFormerCompletion(completion) : completion
  },
  writeStream(exchange, { request: { body } }) {
    const texts = streamChatChunks(exchange)
    return isJsonObject(body) && offersFormerFunctions(body) ? toFormerStream(texts) : texts
  },
  toCallerPath: toChatPath,
  errorStyle: 'openai',
  description: chatDescription,
}

const parseBody = createLazyParser(chatRequestSchema)

/** Parses a chat-completions body. It already is the canonical form, so it is validated but not copied. */
function parseChatRequest(body: JsonObject): ChatRequest {
  const request = withCallArguments(parseBody(toTools(toChatForm(body))))
  if (typeof request.n === 'number' && request.n > 1)
    throw unsupportedError('n', 'n greater than 1 is not supported. Omit it or set it to 1.')
  if (request.logprobs === true)
    throw unsupportedError('logprobs', 'logprobs is not supported. Omit it or set it to false.')
  checkToolCalls(request)
  checkToolChoice(request)
  checkChatResponseFormat(request)
  const messages = withReplyImages(decodeCarriedReasoning(request.messages))
  if (hasNoNulls(request)) return messages === request.messages ? request : { ...request, messages }
  const { model, user, ...rest } = request
  return { ...rest, messages, ...(model != null && { model }), ...(user != null && { user }) }
}

/** Messages of the gateway with the images of earlier replies are not the caller's. */
function toChatPath(canonical: string, _exchange: unknown, body: JsonObject): string {
  const path = offersFormerFunctions(body) ? toFormerPath(canonical) : canonical
  const { messages } = body
  const [, index, rest = ''] = /^messages\[(\d+)\](.*)$/.exec(path) ?? []
  if (index === undefined || !Array.isArray(messages)) return path
  const indexes: number[] = []
  withReplyImages(messages, indexes)
  return `messages[${indexes[Number(index)] ?? index}]${rest}`
}

/** A field of a `ChatRequest` that is `null` in a body counts as missing. */
interface NullableFields {
  readonly model?: string | null
  readonly user?: string | null
}

function hasNoNulls<T extends NullableFields>(
  request: T,
): request is T & { readonly model?: string; readonly user?: string } {
  return request.model !== null && request.user !== null
}

function isResponsesBody({ messages, input }: JsonObject): boolean {
  return messages === undefined && input !== undefined
}

function parseResponsesForm(value: JsonObject): ChatRequest {
  const { previous_response_id, stream_options } = value
  if (previous_response_id != null) {
    const message = 'previous_response_id needs POST /v1/responses: chat completions are not stored.'
    throw unsupportedError('previous_response_id', message)
  }
  const body = parseResponsesBody(value)
  const request = parseResponsesRequest(body, [], parseResponsesInput(body))
  // The cast is safe: whoever reads the options checks them.
  return stream_options == null ? request : ({ ...request, stream_options } as unknown as ChatRequest)
}

function unsupportedError(param: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param })
}
