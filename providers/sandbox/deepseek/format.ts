import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { parseJsonObject } from '../../../core/util/json.ts'
import { openaiFormat, toOpenAiErrorBody, toOpenAiErrorEvent } from '../openai/format.ts'
import { parseOpenAiRequest } from '../openai/request.ts'
import { messagesIn, requireReasoning } from '../shared/issued-reasoning.ts'
import type { ModelRequest } from '../shared/model-request.ts'
import { type ChatCall, SandboxError, type WireFormat } from '../shared/wire-format.ts'
import { toDeepSeekBody, toDeepSeekStream } from './reply.ts'

const MODELS = ['deepseek-flash', 'deepseek-v4-pro']

/** DeepSeek's chat completions (https://api-docs.deepseek.com/api/create-chat-completion). */
export const deepseekFormat: WireFormat = {
  name: 'deepseek',
  findEndpoint: (method, path) => openaiFormat.findEndpoint(method, `/v1${path}`),
  getApiKey: openaiFormat.getApiKey,
  parseCall: (_path, body) => parseCall(body),
  buildModelList() {
    return JSON.stringify({
      object: 'list',
      data: MODELS.map((id) => ({ id, object: 'model', owned_by: 'deepseek' })),
    })
  },
  toErrorBody: toOpenAiErrorBody,
  toErrorEvent: toOpenAiErrorEvent,
}

/** Throws a `SandboxError` (400) if DeepSeek would reject the body. */
function parseCall(body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'Failed to parse the request body as JSON')
  const isThinking = isThinkingEnabled(body)
  const request = { ...parseOpenAiRequest(body), wantsReasoning: isThinking }
  checkDeepSeekBody(body, request, isThinking)
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  return {
    request: followSchema(request),
    isStream: body.stream === true,
    checkReasoning: () => requireReasoning(messagesIn(body), 'reasoning_content', hasReasoning),
    toBody: toDeepSeekBody,
    toStream: (reply) => toDeepSeekStream(reply, isThinking, includesUsage),
  }
}

function hasReasoning({ reasoning_content: reasoning }: JsonObject): boolean {
  return typeof reasoning === 'string' && reasoning !== ''
}

/** In JSON mode, a model follows a JSON Schema that is a line of its prompt. */
function followSchema(request: ModelRequest): ModelRequest {
  if (request.replyFormat.type !== 'json') return request
  const lines = request.texts.flatMap((text) => text.split('\n'))
  const schema = lines.map(parseJsonObject).find((value) => value !== undefined && isSchema(value))
  return schema ? { ...request, replyFormat: { type: 'schema', schema } } : request
}

function isSchema({ type, properties, $ref, anyOf }: JsonObject): boolean {
  return type === 'object' || [properties, $ref, anyOf].some((keyword) => keyword !== undefined)
}

/** Thinking is enabled by default. */
function isThinkingEnabled({ thinking }: JsonObject): boolean {
  return !isJsonObject(thinking) || thinking.type !== 'disabled'
}

/** Throws a `SandboxError` (400) for what DeepSeek rejects and OpenAI accepts. Unknown fields are ignored. */
function checkDeepSeekBody(body: JsonObject, request: ModelRequest, isThinking: boolean): void {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isJsonObject) : []
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`, isThinking)
  if (Array.isArray(body.tools) && body.tools.length === 0) {
    throw invalidParameter('tools', '[] is too short')
  }
  for (const name of functionNamesIn(body, messages))
    if (typeof name !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(name))
      throw invalidParameter('tools', 'names must be 1 to 64 letters, digits, _ or -')
  if (Array.isArray(body.tools) && body.tools.length > MAX_TOOLS) throw invalidParameter('tools', 'too long')
  if (Array.isArray(body.stop) && body.stop.length > MAX_STOPS)
    throw invalidParameter('stop', `at most ${MAX_STOPS} are supported`)
  const { user_id: user } = body
  if (user !== undefined && !/^[A-Za-z0-9_-]{1,512}$/.test(String(user))) {
    throw invalidParameter('user_id', 'it must be 1 to 512 letters, digits, _ or -')
  }
  const { replyFormat, texts } = request
  if (replyFormat.type === 'schema') {
    throw invalidParameter('response_format', 'this type is unavailable now')
  }
  if (replyFormat.type === 'json' && !texts.some((text) => /json/i.test(text))) {
    throw invalidParameter('response_format', "the prompt must contain the word 'json' to use 'json_object'")
  }
}

const MAX_TOOLS = 128
const MAX_STOPS = 16

/** The names of the functions that are offered or were called. */
function functionNamesIn({ tools }: JsonObject, messages: readonly JsonObject[]): readonly unknown[] {
  const calls = [tools, ...messages.map(({ tool_calls }) => tool_calls)]
  return calls
    .flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []))
    .map(({ function: called }) => (isJsonObject(called) ? called.name : undefined))
}

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])

function checkMessage(message: JsonObject, path: string, isThinking: boolean): void {
  const { role, content, tool_calls: calls, reasoning_content: reasoning } = message
  if (!ROLES.has(role)) throw invalidParameter(`${path}.role`, `unknown variant ${String(role)}`)
  if (role === 'tool' && typeof content !== 'string') {
    throw invalidParameter(`${path}.content`, 'expected a string')
  }
  if (isThinking && Array.isArray(calls) && calls.length > 0 && typeof reasoning !== 'string') {
    throw invalidParameter(`${path}.reasoning_content`, 'it must be passed back in thinking mode')
  }
}

function invalidParameter(param: string, why: string): SandboxError {
  return new SandboxError(400, `Invalid '${param}': ${why}.`, { param, code: 'invalid_request_error' })
}
