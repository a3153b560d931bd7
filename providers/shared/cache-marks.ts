import type { ChatRequest, Message, Tool } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'

/**
 * Removes the marks of Anthropic's cache of prompts (`cache_control`), which OpenAI refuses as unknown
 * parameters. Returns the same request if there are none.
 */
export function withoutCacheMarks(request: ChatRequest): ChatRequest {
  const { messages, tools } = request
  if (!isMarked(request) && !messages.some(isMarkedMessage) && tools?.some(isMarkedTool) !== true)
    return request
  return {
    ...unmark(request),
    messages: messages.map(unmarkMessage),
    ...(tools != null && { tools: tools.map(unmarkTool) }),
  }
}

function isMarked({ cache_control }: JsonObject): boolean {
  return cache_control !== undefined
}

function isMarkedMessage(message: Message): boolean {
  const { content, tool_calls } = message
  return (
    isMarked(message) || (Array.isArray(content) && content.some(isMarked)) || !!tool_calls?.some(isMarked)
  )
}

function isMarkedTool(tool: Tool): boolean {
  return isMarked(tool) || (tool.function !== undefined && isMarked(tool.function))
}

/** The cast is safe: no type has this field. */
function unmark<Value extends JsonObject>(value: Value): Value {
  const { cache_control: _, ...rest }: JsonObject = value
  return rest as Value
}

function unmarkMessage(message: Message): Message {
  const { content, tool_calls } = message
  return {
    ...unmark(message),
    ...(Array.isArray(content) && { content: content.map((part) => unmark(part)) }),
    ...(tool_calls != null && { tool_calls: tool_calls.map((call) => unmark(call)) }),
  }
}

function unmarkTool(tool: Tool): Tool {
  return { ...unmark(tool), ...(tool.function && { function: unmark(tool.function) }) }
}
