import type { ChatRequest, Message, ToolCall } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'

/**
 * Converts earlier calls of custom tools, which only OpenAI has, to calls of functions with the argument
 * `input`. Returns the same request if there are none.
 */
export function withFunctionCalls(request: ChatRequest): ChatRequest {
  if (!request.messages.some(hasCustomCall)) return request
  return { ...request, messages: request.messages.map(toFunctionMessage) }
}

function hasCustomCall({ tool_calls }: Message): boolean {
  return tool_calls?.some(isCustom) === true
}

function isCustom({ function: called, custom }: Partial<ToolCall>): boolean {
  return called === undefined && isJsonObject(custom)
}

function toFunctionMessage(message: Message): Message {
  const { tool_calls } = message
  return tool_calls == null ? message : { ...message, tool_calls: tool_calls.map(toFunctionCall) }
}

function toFunctionCall(call: ToolCall): ToolCall {
  const { custom, ...rest } = call
  if (!isCustom(call) || !isJsonObject(custom)) return call
  const json = JSON.stringify({ input: custom.input })
  return { ...rest, type: 'function', function: { name: String(custom.name), arguments: json } }
}
