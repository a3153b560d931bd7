import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Call, Format } from '../format.ts'
import { Refusal } from '../format.ts'
import type { Question } from '../model-request.ts'
import { openai, writeError, writeErrorEvent } from '../openai/format.ts'
import { readQuestion } from '../openai/request.ts'
import { writeStream, writeWhole } from './reply.ts'

const MODELS = ['deepseek-flash', 'deepseek-v4-pro']

/** DeepSeek's chat completions (https://api-docs.deepseek.com/api/create-chat-completion). */
export const deepseek: Format = {
  name: 'deepseek',
  findEndpoint: (method, path) => openai.findEndpoint(method, `/v1${path}`),
  readKey: openai.readKey,
  readCall: (_path, body) => readCall(body),
  writeModels() {
    return JSON.stringify({
      object: 'list',
      data: MODELS.map((id) => ({ id, object: 'model', owned_by: 'deepseek' })),
    })
  },
  writeError,
  writeErrorEvent,
}

/** Reads the body of a chat request. Throws a `Refusal` (400) for one that DeepSeek would not take. */
function readCall(body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(400, 'Failed to parse the request body as JSON')
  const thinks = isThinking(body)
  const question = { ...readQuestion(body), wantsReasoning: thinks }
  checkBody(body, question, thinks)
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  return {
    question,
    streams: body.stream === true,
    writeWhole,
    writeStream: (answer) => writeStream(answer, thinks, includesUsage),
  }
}

/** It thinks unless it is told not to. */
function isThinking({ thinking }: JsonObject): boolean {
  return !isJsonObject(thinking) || thinking.type !== 'disabled'
}

/** Throws a `Refusal` (400) for what DeepSeek refuses and OpenAI does not. Unknown fields are ignored. */
function checkBody(body: JsonObject, question: Question, thinks: boolean): void {
  const messages = Array.isArray(body.messages) ? body.messages.filter(isJsonObject) : []
  for (const [index, message] of messages.entries()) checkMessage(message, `messages[${index}]`, thinks)
  if (Array.isArray(body.tools) && body.tools.length === 0) throw refuse('tools', '[] is too short')
  const { user_id: user } = body
  if (user !== undefined && !/^[A-Za-z0-9_-]{1,512}$/.test(String(user))) {
    throw refuse('user_id', 'it must be 1 to 512 letters, digits, _ or -')
  }
  if (question.output.type === 'schema') throw refuse('response_format', 'this type is unavailable now')
  if (question.output.type === 'json' && !question.texts.some((text) => /json/i.test(text))) {
    throw refuse('response_format', "the prompt must contain the word 'json' to use 'json_object'")
  }
}

function checkMessage(message: JsonObject, place: string, thinks: boolean): void {
  const { role, content, tool_calls: calls, reasoning_content: reasoning } = message
  if (!ROLES.has(role)) throw refuse(`${place}.role`, `unknown variant ${String(role)}`)
  if (role === 'tool' && typeof content !== 'string') throw refuse(`${place}.content`, 'expected a string')
  if (thinks && Array.isArray(calls) && calls.length > 0 && typeof reasoning !== 'string') {
    throw refuse(`${place}.reasoning_content`, 'it must be passed back in thinking mode')
  }
}

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])

function refuse(param: string, why: string): Refusal {
  return new Refusal(400, `Invalid '${param}': ${why}.`, { param, code: 'invalid_request_error' })
}
