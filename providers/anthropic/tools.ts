import type { ChatRequest, Message, Tool } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Model } from '../../core/contract/provider.ts'
import { asString } from '../shared/fields.ts'
import { readCacheControl } from './messages.ts'
import { reduceSchema } from './reduce-schema.ts'
import { readChoice } from './reply.ts'
import type { MessagesBody, ToolOffer } from './wire.ts'

type Offer = Pick<MessagesBody, 'tools' | 'tool_choice'>

/**
 * The tools and the choice between them (docs/providers.md, "Anthropic requests"). A model that refuses to be forced may choose freely, a named
 * tool being then the only one. Throws a `GatewayError` for a tool that is no function.
 */
export function writeTools(request: ChatRequest, entry: Model | undefined): Offer {
  const tools = (request.tools ?? []).map(writeTool)
  if (tools.length === 0) return writePastTools(request.messages)
  const { mode, allowed, named } = readChoice(request.tool_choice, tools)
  const mayForce = entry !== undefined && entry.quirks.forced_tools !== false
  const disable_parallel_tool_use = request.parallel_tool_calls === false ? true : undefined
  if (mode === 'none') return { tools, tool_choice: { type: 'none' } }
  if (mode === 'auto' || !mayForce) {
    return { tools: allowed, tool_choice: { type: 'auto', disable_parallel_tool_use } }
  }
  if (named === undefined) {
    return { tools: allowed, tool_choice: { type: 'any', disable_parallel_tool_use } }
  }
  return { tools, tool_choice: { type: 'tool', name: named, disable_parallel_tool_use } }
}

function writeTool({ type, function: tool, cache_control }: Tool, index: number): ToolOffer {
  if (type !== 'function' || !tool) {
    const param = `tools[${index}]`
    throw new GatewayError('unsupported_parameter', `${param}: anthropic takes function tools only.`, {
      param,
    })
  }
  const schema = { properties: {}, ...tool.parameters, type: 'object' } as const
  const isStrict = tool.strict === true
  return {
    name: tool.name,
    description: asString(tool.description) || undefined,
    input_schema: isStrict ? { ...reduceSchema(schema), type: 'object' } : schema,
    strict: isStrict ? true : undefined,
    cache_control: readCacheControl(cache_control),
  }
}

/** Anthropic refuses tool calls in the history of a request without tools: names those, and lets none be called. */
function writePastTools(messages: readonly Message[]): Offer {
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? [])
  const names = [...new Set(calls.map((call) => call.function.name))]
  if (names.length === 0) return {}
  const tools = names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } as const }))
  return { tools, tool_choice: { type: 'none' } }
}
