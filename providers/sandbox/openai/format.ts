import { isJsonObject, type JsonObject, type SseEvent } from '../../../core/contract/index.ts'
import { asObject, asObjects, asString } from '../../shared/fields.ts'
import { messagesIn, requireReasoning } from '../shared/issued-reasoning.ts'
import { parseModeration } from '../shared/moderations.ts'
import { fieldSet } from '../shared/unknown-fields.ts'
import { type ChatCall, SandboxError, type WireFormat } from '../shared/wire-format.ts'
import { parseOpenAiEmbeddings } from './embeddings.ts'
import { toOpenAiBody, toOpenAiStream } from './reply.ts'
import { parseOpenAiRequest } from './request.ts'
import { parseSandboxResponse } from './responses.ts'
import { checkChatLimits } from './validate-request.ts'

const MODELS = ['gpt-6-sol', 'gpt-5.6-terra', 'gpt-5-mini', 'gpt-4.1', 'gpt-4o-mini']

/** What is not a chat completion, by path. */
const OPERATIONS: ReadonlyMap<string, (body: unknown) => ChatCall> = new Map([
  ['/v1/embeddings', parseOpenAiEmbeddings],
  ['/v1/responses', parseSandboxResponse],
  ['/v1/moderations', (body) => parseModeration(body, 'openai')],
])

/** OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat). */
export const openaiFormat: WireFormat = {
  name: 'openai',
  findEndpoint(method, path) {
    if (method === 'POST' && (path === '/v1/chat/completions' || OPERATIONS.has(path))) return 'chat'
    if (method === 'GET' && path === '/v1/models') return 'models'
    return undefined
  },
  getApiKey: ({ authorization = '' }) => /^Bearer\s+(\S.*)$/i.exec(authorization)?.[1]?.trim() ?? '',
  parseCall: (path, body) => OPERATIONS.get(path)?.(body) ?? parseCall(body),
  buildModelList() {
    const data = MODELS.map((id) => ({ id, object: 'model', created: 1_767_225_600, owned_by: 'sandbox' }))
    return JSON.stringify({ object: 'list', data })
  },
  toErrorBody: toOpenAiErrorBody,
  toErrorEvent: toOpenAiErrorEvent,
}

/** Throws a `SandboxError` (400) if OpenAI would reject the body. */
function parseCall(body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'We could not parse the JSON body of your request.')
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  const unknownFields = findUnknownFields(body)
  checkToolsWithReasoning(body)
  checkMessageFields(body)
  checkMedia(body)
  checkChatLimits(body)
  return {
    request: parseOpenAiRequest(body),
    isStream: body.stream === true,
    checkReasoning: () => checkReasoning(body),
    toBody: (reply) => toOpenAiBody(reply, unknownFields),
    toStream: (reply) => toOpenAiStream(reply, unknownFields, includesUsage),
  }
}

/** Models that refuse tools in chat completions unless they are told not to reason. */
const REASONS_BY_DEFAULT = /^gpt-(?:5\.[56]|6)/

function checkToolsWithReasoning({ model, tools, reasoning_effort: effort }: JsonObject): void {
  if (!Array.isArray(tools) || tools.length === 0 || effort === 'none') return
  if (!REASONS_BY_DEFAULT.test(String(model))) return
  const message =
    `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use ` +
    "function tools, use /v1/responses or set reasoning_effort to 'none'."
  throw new SandboxError(400, message, { param: 'reasoning_effort' })
}

/** OpenAI's own models; others are those of compatible providers. */
const OWN_MODELS = /^(?:gpt-|o\d|chatgpt-)/

/** OpenAI refuses reasoning in messages. */
function checkMessageFields({ model, ...body }: JsonObject): void {
  if (!OWN_MODELS.test(String(model))) return
  for (const [index, message] of messagesIn(body).entries()) {
    const field = REASONING_FIELDS.find((name) => message[name] !== undefined)
    if (field === undefined) continue
    const param = `messages[${index}].${field}`
    throw new SandboxError(400, `Unknown parameter: '${param}'.`, { param, code: 'unknown_parameter' })
  }
}

/** OpenAI keeps the reasoning of chat completions to itself. */
function checkReasoning({ model, ...body }: JsonObject): void {
  if (!OWN_MODELS.test(String(model))) requireReasoning(messagesIn(body), 'reasoning_content', hasReasoning)
}

const REASONING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details', 'reasoning_data']

function hasReasoning({ reasoning_content, reasoning }: JsonObject): boolean {
  return [reasoning_content, reasoning].some((text) => typeof text === 'string' && text !== '')
}

/** Media is accepted in messages of the user, and files as data URLs. */
function checkMedia({ messages }: JsonObject): void {
  for (const [index, { role, content }] of asObjects(messages).entries()) {
    for (const [partIndex, { type, file }] of asObjects(content).entries()) {
      const param = `messages[${index}]`
      if (role !== 'user' && type === 'image_url') {
        const message = `Invalid '${param}'. Image URLs are only allowed for messages with role 'user'.`
        throw new SandboxError(400, message, { param, code: 'invalid_value' })
      }
      const { file_data, file_id } = asObject(file)
      if (type !== 'file' || file_id != null || asString(file_data).startsWith('data:')) continue
      const name = `${param}.content[${partIndex}].file.file_data`
      const message = `Invalid '${name}'. Expected a base64-encoded data URL of a PDF.`
      throw new SandboxError(400, message, { param: name, code: 'invalid_value' })
    }
  }
}

interface ErrorKind {
  readonly type: string
  readonly code: string | null
}

const ERROR_KINDS: Readonly<Record<number, ErrorKind>> = {
  401: { type: 'authentication_error', code: 'invalid_api_key' },
  403: { type: 'permission_error', code: null },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  503: { type: 'service_unavailable_error', code: 'server_is_overloaded' },
}

/** Encodes an error as `{error: {message, type, param, code}}`. */
export function toOpenAiErrorBody({ status, message, details }: SandboxError): string {
  const { type, code } = ERROR_KINDS[status] ?? { type: errorTypeOf(status), code: null }
  const { param = null } = details
  return JSON.stringify({ error: { message, type, param, code: details.code ?? code } })
}

/** An error in the middle of a stream is an ordinary event with the body of an error response. */
export function toOpenAiErrorEvent(error: SandboxError): SseEvent {
  return { event: '', data: toOpenAiErrorBody(error) }
}

function errorTypeOf(status: number): string {
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

// From the API reference of November 2026. Other fields are accepted and reported in
// `x_sandbox.unknown_fields`.
const KNOWN_FIELDS = fieldSet(
  `messages model stream stream_options temperature top_p max_tokens max_completion_tokens stop n seed
  presence_penalty frequency_penalty logit_bias logprobs top_logprobs tools tool_choice parallel_tool_calls
  functions function_call response_format reasoning_effort verbosity user metadata store service_tier
  modalities audio prediction web_search_options prompt_cache_key prompt_cache_retention
  prompt_cache_options safety_identifier moderation`,
)

/** Returns the names of the fields that OpenAI's chat requests do not have, sorted. */
function findUnknownFields(body: JsonObject): readonly string[] {
  return Object.keys(body)
    .filter((name) => !KNOWN_FIELDS.has(name))
    .sort()
}
