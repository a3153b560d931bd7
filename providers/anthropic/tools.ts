import type { ChatRequest, Message, Tool } from '../../core/contract/chat.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import { invalidValueError, unsupportedParameterError } from '../shared/request-errors.ts'
import { toCacheControl } from './messages.ts'
import { toAnthropicSchema } from './response-format.ts'
import type { AnthropicBody, AnthropicTool } from './wire.ts'

type ToolFields = Pick<AnthropicBody, 'tools' | 'tool_choice'>

/**
 * The tools and the tool choice (docs/providers.md, "Anthropic"). Routing does not send a forced
 * call to models that reject it. Throws a `GatewayError` for tools that are not functions. `isForModel`: the
 * request was written for this model in Anthropic's format.
 */
export function toAnthropicTools(request: ChatRequest, isForModel = false): ToolFields {
  const tools = (request.tools ?? []).map((tool, index) => toAnthropicTool(tool, index, isForModel))
  if (tools.length === 0) return isForModel ? {} : toToolsOfHistory(request.messages)
  const { mode, allowed, named } = parseToolChoice(request.tool_choice, tools)
  const disable_parallel_tool_use = request.parallel_tool_calls === false ? true : undefined
  if (mode === 'none') return { tools, tool_choice: { type: 'none' } }
  if (mode === 'auto') return { tools: allowed, tool_choice: { type: 'auto', disable_parallel_tool_use } }
  if (named === undefined) {
    return { tools: allowed, tool_choice: { type: 'any', disable_parallel_tool_use } }
  }
  return { tools, tool_choice: { type: 'tool', name: named, disable_parallel_tool_use } }
}

/**
 * Declares the tools that were called earlier, and forbids calling them: Anthropic rejects a history with
 * tool calls in a request without tools.
 */
function toToolsOfHistory(messages: readonly Message[]): ToolFields {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  const names = [...new Set(calls.map((call) => call.function.name))]
  if (names.length === 0) return {}
  const tools = names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } as const }))
  return { tools, tool_choice: { type: 'none' } }
}

function toAnthropicTool(tool: Tool, index: number, isForModel: boolean): AnthropicTool {
  const { type, function: called } = tool
  const extra = asObject(tool.extra_content?.anthropic)
  // The cast stands for a tool that Anthropic provides, in any form: Anthropic validates it.
  if (type === 'extra_content' && asString(extra.name)) return extra as unknown as AnthropicTool
  if (type !== 'function' || !called) {
    throw unsupportedParameterError(
      `tools[${index}]`,
      'must be a function; anthropic supports no other tools.',
    )
  }
  const isStrict = called.strict === true
  const schema = { properties: {}, ...called.parameters, type: 'object' } as const
  const cache_control = toCacheControl(tool.cache_control ?? called.cache_control)
  return {
    ...extra,
    name: called.name,
    description: asString(called.description) || undefined,
    input_schema: isStrict && !isForModel ? { ...toAnthropicSchema(schema), type: 'object' } : schema,
    strict: isStrict ? true : undefined,
    ...(cache_control && { cache_control }),
  }
}

interface ToolChoice {
  readonly mode: 'none' | 'auto' | 'required'
  /** The tools that may be called. */
  readonly allowed: readonly AnthropicTool[]
  /** The only tool that may be called, if the request names one. */
  readonly named?: string
}

/** Throws a `GatewayError` for an unknown form of `tool_choice`, and for a name that is not in `tools`. */
function parseToolChoice(choice: unknown, tools: readonly AnthropicTool[]): ToolChoice {
  if (choice == null) return { mode: 'auto', allowed: tools }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { mode: choice, allowed: tools }
  const { type, function: named, allowed_tools } = asObject(choice)
  if (type === 'function') return toNamedChoice(nameOf(named), tools)
  if (type === 'allowed_tools') return toAllowedChoice(allowed_tools, tools)
  throw invalidValueError('tool_choice', 'must be "none", "auto", "required", a function or allowed_tools.')
}

function toNamedChoice(name: string, tools: readonly AnthropicTool[]): ToolChoice {
  return { mode: 'required', allowed: selectTools([name], tools), named: name }
}

function toAllowedChoice(value: unknown, tools: readonly AnthropicTool[]): ToolChoice {
  const { mode, tools: list } = asObject(value)
  const names = asObjects(list).map((tool) => nameOf(tool.function))
  return { mode: mode === 'required' ? 'required' : 'auto', allowed: selectTools(names, tools) }
}

function nameOf(value: unknown): string {
  return asString(asObject(value).name)
}

function selectTools(names: readonly string[], tools: readonly AnthropicTool[]): readonly AnthropicTool[] {
  const selected = tools.filter(({ name }) => names.includes(name))
  if (selected.length === 0) throw invalidValueError('tool_choice', 'must name a function that is in tools.')
  return selected
}
