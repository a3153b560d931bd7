import {
  type ChatRequest,
  type Dialect,
  GatewayError,
  type JsonObject,
  parseMode,
} from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { checkChatResponseFormat, checkToolChoice } from '../check-request.ts'
import { routeDescription } from './description.ts'
import { routeRequestSchema } from './request-schema.ts'
import { buildRouteResult } from './result.ts'

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
