import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Question } from '../question.ts'
import { Refusal } from '../refusal.ts'

/** Throws a `Refusal` (400) for what DeepSeek refuses and OpenAI does not. Unknown fields are ignored. */
export function checkBody(body: JsonObject, question: Question, thinks: boolean): void {
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
