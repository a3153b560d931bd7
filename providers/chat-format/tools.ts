import type { ChatRequest, Tool, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toHistoryArguments } from '../shared/call-arguments.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import type { ChatToolCall, FunctionTool, NamedToolChoice } from './wire.ts'

/** The tools of a request. Undefined if there are none, because strict providers reject an empty list. */
export function toChatTools(tools: ChatRequest['tools']): readonly FunctionTool[] | undefined {
  return tools == null || tools.length === 0 ? undefined : tools.map(toChatTool)
}

function toChatTool({ type, function: tool }: Tool): FunctionTool {
  if (type !== 'function' || tool === undefined) {
    const message = `This provider supports only function tools. Remove the tool of type "${type}".`
    throw new GatewayError('unsupported_parameter', message, { param: 'tools' })
  }
  const { name, description, parameters, strict } = tool
  return {
    type: 'function',
    function: {
      name,
      ...(typeof description === 'string' && { description }),
      parameters: parameters ?? NO_PARAMETERS,
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

/** Sent for functions without parameters, since some providers require a schema. */
const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

/**
 * Replaces the choice `allowed_tools`, which only OpenAI has, by its mode, and the tools by those that it
 * allows.
 */
export function applyAllowedTools({
  tools,
  tool_choice,
}: ChatRequest): Pick<ChatRequest, 'tools' | 'tool_choice'> {
  if (tools == null) return {}
  const allowed = isJsonObject(tool_choice) ? tool_choice.allowed_tools : undefined
  if (!isJsonObject(allowed)) return { tools, ...(tool_choice !== undefined && { tool_choice }) }
  const names = new Set(asObjects(allowed.tools).map((tool) => asObject(tool.function).name))
  return {
    tools: tools.filter((tool) => names.has(tool.function?.name)),
    tool_choice: allowed.mode === 'required' ? 'required' : 'auto',
  }
}

/**
 * Returns a `tool_choice` of the form `{type:"function", function:{name}}`; undefined for any other value.
 */
export function toNamedToolChoice(choice: ChatRequest['tool_choice']): NamedToolChoice | undefined {
  const name = isJsonObject(choice) && isJsonObject(choice.function) ? asString(choice.function.name) : ''
  return name === '' ? undefined : { type: 'function', function: { name } }
}

/** A tool call of the message history with only the fields that every provider knows. */
export function toChatToolCall(call: ToolCall): ChatToolCall {
  return {
    id: call.id,
    type: 'function',
    function: { name: call.function.name, arguments: toHistoryArguments(call) },
  }
}
