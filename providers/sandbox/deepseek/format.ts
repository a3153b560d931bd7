import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { ChatCall, WireFormat } from '../format.ts'
import { SandboxError } from '../format.ts'
import type { ModelRequest } from '../model-request.ts'
import { openaiFormat, toOpenAiErrorBody, toOpenAiErrorEvent } from '../openai/format.ts'
import { parseOpenAiRequest } from '../openai/request.ts'
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

/** Reads the body of a chat request. Throws a `Refusal` (400) for one that DeepSeek would not take. */
function parseCall(body: unknown): ChatCall {
  if (!isJsonObject(body)) throw new SandboxError(400, 'Failed to parse the request body as JSON')
  const thinks = isThinking(body)
  const question = { ...parseOpenAiRequest(body), wantsReasoning: thinks }
  checkBody(body, question, thinks)
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  return {
    request: question,
    isStream: body.stream === true,
    toBody: toDeepSeekBody,
    toStream: (answer) => toDeepSeekStream(answer, thinks, includesUsage),
  }
}

/** It thinks unless it is told not to. */
function isThinking({ thinking }: JsonObject): boolean {
  return !isJsonObject(thinking) || thinking.type !== 'disabled'
}

/** Throws a `Refusal` (400) for what DeepSeek refuses and OpenAI does not. Unknown fields are ignored. */
function checkBody(body: JsonObject, question: ModelRequest, thinks: boolean): void {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isJsonObject) : []
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`, thinks)
  if (Array.isArray(body.tools) && body.tools.length === 0) throw invalidParameter('tools', '[] is too short')
  const { user_id: user } = body
  if (user !== undefined && !/^[A-Za-z0-9_-]{1,512}$/.test(String(user))) {
    throw invalidParameter('user_id', 'it must be 1 to 512 letters, digits, _ or -')
  }
  if (question.replyFormat.type === 'schema')
    throw invalidParameter('response_format', 'this type is unavailable now')
  if (question.replyFormat.type === 'json' && !question.texts.some((text) => /json/i.test(text))) {
    throw invalidParameter('response_format', "the prompt must contain the word 'json' to use 'json_object'")
  }
}

function checkMessage(message: JsonObject, place: string, thinks: boolean): void {
  const { role, content, tool_calls: calls, reasoning_content: reasoning } = message
  if (!ROLES.has(role)) throw invalidParameter(`${place}.role`, `unknown variant ${String(role)}`)
  if (role === 'tool' && typeof content !== 'string')
    throw invalidParameter(`${place}.content`, 'expected a string')
  if (thinks && Array.isArray(calls) && calls.length > 0 && typeof reasoning !== 'string') {
    throw invalidParameter(`${place}.reasoning_content`, 'it must be passed back in thinking mode')
  }
}

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])

function invalidParameter(param: string, why: string): SandboxError {
  return new SandboxError(400, `Invalid '${param}': ${why}.`, { param, code: 'invalid_request_error' })
}
