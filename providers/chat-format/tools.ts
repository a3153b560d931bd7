import type { ChatRequest, ReplyPart, Tool, ToolCall } from '../../core/contract/chat.ts'
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

/** A tool call of the message history with the id `id`, and only the fields that every provider knows. */
export function toChatToolCall(call: ToolCall, id: string): ChatToolCall {
  return {
    id,
    type: 'function',
    function: { name: call.function.name, arguments: toHistoryArguments(call) },
  }
}

/** Parses the `tool_calls` of a message, or of consecutive deltas. Stateful: create one per reply. */
type ToolCallReader = (toolCalls: unknown) => readonly ReplyPart[]

interface OpenToolCall {
  readonly index: number
  readonly id: string
}

/**
 * Numbers tool calls from 0 without gaps, regardless of the provider's `index`. Providers of this format are
 * known to omit the index, to number all parallel calls 0, and to repeat, change or lose the id of a call in
 * later deltas. A new call starts with a new index, or with a name and a new id.
 */
export function createToolCallReader(): ToolCallReader {
  /** By the provider's index, and by id for deltas without an index. */
  const calls = new Map<unknown, OpenToolCall>()
  let count = 0

  function readDelta(call: JsonObject, position: number): readonly ReplyPart[] {
    const custom = isJsonObject(call.custom) ? call.custom : undefined
    const delta = custom ?? call.function
    if (!isJsonObject(delta)) return []
    const id = toToolCallId(call.id)
    const name = asString(delta.name)
    const json = custom ? asString(custom.input) : toArgumentsJson(delta.arguments)
    const index = call.index ?? position
    const parts: ReplyPart[] = []
    let open = (call.index == null ? calls.get(id) : undefined) ?? calls.get(index)
    if (open === undefined || (name !== '' && id !== '' && id !== open.id)) {
      open = { index: count++, id }
      calls.set(index, open)
      if (id !== '') calls.set(id, open)
      parts.push({ type: 'tool-start', index: open.index, id, name, ...(custom && { custom: true }) })
    }
    if (json !== '') parts.push({ type: 'tool-json', index: open.index, json })
    return parts
  }

  return (toolCalls) => {
    if (!Array.isArray(toolCalls)) return []
    return toolCalls.filter(isJsonObject).flatMap(readDelta)
  }
}

/** Mistral sends the string `"null"` in deltas without an id. */
function toToolCallId(id: unknown): string {
  return id === 'null' ? '' : asString(id)
}

/** Mistral may send the arguments as an object instead of JSON text. */
function toArgumentsJson(value: unknown): string {
  return isJsonObject(value) ? JSON.stringify(value) : asString(value)
}
