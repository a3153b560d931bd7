import {
  type ChatRequest,
  type Dialect,
  GatewayError,
  isJsonObject,
  type JsonObject,
} from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { withCallArguments } from '../call-arguments.ts'
import { decodeCarriedReasoning } from '../carried-reasoning.ts'
import { checkChatResponseFormat, checkToolCalls, checkToolChoice } from '../check-request.ts'
import { withReplyImages } from '../reply-images.ts'
import { buildChatCompletion } from './completion.ts'
import { streamChatChunks } from './completion-stream.ts'
import { chatDescription } from './description.ts'
import {
  offersFormerFunctions,
  toFormerCompletion,
  toFormerPath,
  toFormerStream,
  toTools,
} from './former-functions.ts'
import { toChatForm } from './other-forms.ts'
import { chatRequestSchema } from './request-schema.ts'

/** `POST /v1/chat/completions`. */
export const chatDialect: Dialect = {
  parseRequest(body) {
    try {
      return parseChatRequest(body)
    } catch (error) {
      const { param } = GatewayError.isInstance(error) ? error.details : {}
      if (param === undefined || !offersFormerFunctions(body)) throw error
      throw (error as GatewayError).withParam(toFormerPath(param))
    }
  },
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

function unsupportedError(param: string, message: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param })
}
