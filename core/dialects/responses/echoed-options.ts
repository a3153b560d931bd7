import {
  type ChatRequest,
  type Exchange,
  isJsonObject,
  type JsonObject,
  type Tool,
} from '../../contract/index.ts'
import { isClientSearch, TOOL_SEARCH, toFunctionName } from './client-tools.ts'
import type { ResponsesBody } from './request-schema.ts'
import type { FlatTool } from './tool-schemas.ts'

/** The values that OpenAI's description has for options of a request; strict clients read no others. */
export const ECHOED_VALUES = {
  tool_choice: ['auto', 'none', 'required'],
  effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  summary: ['auto', 'concise', 'detailed'],
  verbosity: ['low', 'medium', 'high'],
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
} as const

/**
 * Builds the fields of a response that repeat options of its request, with the texts that were sent: rules
 * may have masked them. Values that OpenAI's API does not have are passed to the provider, but not repeated.
 */
export function echoOptions(
  { reasoning, text, tool_choice, service_tier }: ResponsesBody,
  request: Pick<ChatRequest, 'tools' | 'response_format'>,
): JsonObject {
  const verbosity = known('verbosity', text?.verbosity)
  return {
    tool_choice: isJsonObject(tool_choice)
      ? echoToolChoice(tool_choice, sentFunctions(request))
      : (known('tool_choice', tool_choice) ?? 'auto'),
    reasoning: { effort: known('effort', reasoning?.effort), summary: known('summary', reasoning?.summary) },
    text: { format: echoFormat(request), ...(verbosity !== null && { verbosity }) },
    // Open Responses requires a text.
    service_tier: known('service_tier', service_tier) ?? 'default',
  }
}

type SentFunctions = ReadonlyMap<string, NonNullable<Tool['function']>>

/** The functions that models get, by name. */
function sentFunctions({ tools }: Pick<ChatRequest, 'tools'>): SentFunctions {
  return new Map(
    (tools ?? []).flatMap(({ function: sent }) => (sent === undefined ? [] : [[sent.name, sent]])),
  )
}

/**
 * Returns the tools of a request as they were sent. Those that models do not get are left out, because no
 * rule has inspected them.
 */
export function echoTools(
  { tools }: Pick<ResponsesBody, 'tools'>,
  { request, received }: Pick<Exchange, 'request' | 'received'>,
): readonly JsonObject[] {
  if (tools == null || request.tools == null) return []
  const sent = sentFunctions(request)
  const before = request.tools === received.tools ? sent : sentFunctions(received)
  return tools.flatMap((tool) => echoTool(tool, sent, before))
}

function echoTool(
  tool: JsonObject,
  sent: SentFunctions,
  before: SentFunctions,
  namespace?: string,
): readonly JsonObject[] {
  const { type, name } = tool
  if (type === 'namespace') {
    const inner: readonly JsonObject[] = Array.isArray(tool.tools) ? tool.tools.filter(isJsonObject) : []
    const tools = inner.flatMap((each) => echoTool(each, sent, before, String(name)))
    // Its own description is not sent.
    return tools.length === 0 ? [] : [{ type, name, description: '', tools }]
  }
  const isSearch = isClientSearch(tool)
  const functionName = isSearch ? TOOL_SEARCH : toFunctionName(String(name), namespace)
  const found = sent.get(functionName)
  if (found === undefined) return []
  const { description, parameters = null, strict = null } = found
  const described = description == null ? {} : { description }
  if (isSearch) return [{ type, execution: 'client', ...described, parameters }]
  if (type === 'function') return [{ type, name, ...described, parameters, strict }]
  if (type !== 'custom') return []
  // Models get description and grammar as one text.
  if (found !== before.get(functionName)) return [{ type, name, ...described, format: { type: 'text' } }]
  return [
    {
      type,
      name,
      ...pick(tool, ['description']),
      ...(isJsonObject(tool.format) && { format: echoInput(tool.format) }),
    },
  ]
}

function echoInput(format: JsonObject): JsonObject {
  return pick(format, ['type', 'syntax', 'definition'])
}

function pick(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (object[name] == null ? [] : [[name, object[name]]])))
}

function known(option: keyof typeof ECHOED_VALUES, value: unknown): string | null {
  const values: readonly string[] = ECHOED_VALUES[option]
  return values.find((candidate) => candidate === value) ?? null
}

function echoToolChoice(choice: JsonObject, sent: SentFunctions): unknown {
  const isSent = ({ name, namespace }: JsonObject) => sent.has(toFunctionName(String(name), namespace))
  const named = (tool: JsonObject) => pick(tool, ['type', 'name', 'namespace'])
  if (choice.type === 'function') return isSent(choice) ? named(choice) : 'auto'
  if (choice.type !== 'allowed_tools') return 'auto'
  const tools = Array.isArray(choice.tools) ? choice.tools.filter(isJsonObject).filter(isSent).map(named) : []
  return { type: choice.type, mode: choice.mode === 'required' ? 'required' : 'auto', tools }
}

function echoFormat({ response_format: format }: Pick<ChatRequest, 'response_format'>): JsonObject {
  if (format == null) return { type: 'text' }
  const { description, ...fields } = isJsonObject(format.json_schema) ? format.json_schema : {}
  return { type: format.type, ...fields, ...(description != null && { description }) }
}

/** Adds the fields that OpenAI's clients require of a tool. */
export function toEchoedTool(tool: FlatTool): JsonObject {
  if (tool.type === 'namespace') return { ...tool, description: tool.description ?? '' }
  return tool.type === 'function' ? { parameters: null, strict: null, ...tool } : tool
}
