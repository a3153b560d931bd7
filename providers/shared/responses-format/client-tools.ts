import {
  GatewayError,
  isJsonObject,
  type JsonObject,
  type Message,
  type Tool,
} from '../../../core/contract/index.ts'
import { parseJson } from '../../../core/util/json.ts'
import type { FlatTool, ResponsesBody } from './request-schema.ts'

// Tools that the client runs, and that only the Responses API has: custom tools, whose input is any text,
// namespaces of tools, and the search for tools. Models get them as functions, so that every provider can
// call them. See docs/api.md, "Tools of responses".

/** A tool that is called by another name or with another input than the function that models get. */
export interface ClientTool {
  readonly name: string
  readonly namespace?: string
  /** The input of a `custom` tool is a text, which the function gets as its argument `input`. */
  readonly kind: 'function' | 'custom' | 'search'
}

/** The name of the function that searches for tools. */
export const TOOL_SEARCH = 'tool_search'

/** By the name of the function that models get. Undefined if all tools are plain functions. */
export type ClientTools = ReadonlyMap<string, ClientTool> | undefined

/** Collects the tools of a request that models get as other functions. */
export function findClientTools(tools: unknown): ClientTools {
  if (!Array.isArray(tools)) return undefined
  return toToolMap(tools.filter(isJsonObject).flatMap(toClientTools))
}

/** Collects the client tools that the calls of an output belong to. */
export function findCalledTools(output: readonly JsonObject[]): ClientTools {
  const found = output.flatMap(({ type, name, namespace }): readonly ClientTool[] => {
    if (type === 'tool_search_call') return [{ name: TOOL_SEARCH, kind: 'search' }]
    if (type !== 'custom_tool_call' && typeof namespace !== 'string') return []
    const kind = type === 'custom_tool_call' ? 'custom' : 'function'
    return [{ name: String(name), ...(typeof namespace === 'string' && { namespace }), kind }]
  })
  return toToolMap(found)
}

function toToolMap(found: readonly ClientTool[]): ClientTools {
  return found.length === 0
    ? undefined
    : new Map(found.map((tool) => [toFunctionName(tool.name, tool.namespace), tool]))
}

function toClientTools(tool: JsonObject): readonly ClientTool[] {
  const { type, name, tools } = tool
  if (isClientSearch(tool)) return [{ name: TOOL_SEARCH, kind: 'search' }]
  if (typeof name !== 'string') return []
  if (type === 'custom') return [{ name, kind: 'custom' }]
  if (type !== 'namespace' || !Array.isArray(tools)) return []
  return tools.filter(isJsonObject).map((inner) => ({
    name: String(inner.name),
    namespace: name,
    kind: inner.type === 'custom' ? 'custom' : 'function',
  }))
}

/** The search for tools runs at OpenAI unless the request says that the client runs it. */
export function isClientSearch({ type, execution }: JsonObject): boolean {
  return type === 'tool_search' && execution === 'client'
}

/** The name under which models get the function of a namespace. */
export function toFunctionName(name: string, namespace: unknown): string {
  if (typeof namespace !== 'string' || namespace === '') return name
  return namespace.endsWith('__') ? `${namespace}${name}` : `${namespace}__${name}`
}

/** Converts the input of a custom tool to the arguments of its function. */
export function toCustomArguments(input: unknown): string {
  return JSON.stringify({ input: String(input) })
}

/** The same backwards. Arguments that a model wrote in another form are the input as they are. */
export function toCustomInput(json: string): string {
  const value = parseJson(json)
  if (typeof value === 'string') return value
  // Otherwise, the model was cut off, or wrote the input itself.
  return isJsonObject(value) && typeof value.input === 'string' ? value.input : json
}

/** Tools that run at OpenAI, or that only its models know without a schema. */
const HOSTED_TOOL = new RegExp(
  `^(?:${[
    ...['web_search', 'file_search', 'code_interpreter', 'computer', 'image_generation', 'tool_search'],
    ...['mcp$', 'local_shell$', 'shell$', 'apply_patch$'],
  ].join('|')})`,
)

/**
 * Converts tools to the chat-completions format, without hosted tools that the client can do without, and
 * with those that searches have found. Drops those that `allowed_tools` does not list. Throws 400 for a
 * hosted tool that is required.
 */
export function toChatTools(
  { tools, tool_choice: choice }: ResponsesBody,
  loaded: readonly FlatTool[] = [],
): readonly Tool[] {
  const declared = (tools ?? []).flatMap((tool, index) => {
    const path = `tools[${index}]`
    return isOmitted(tool, tools ?? []) ? [] : toFunctions(tool, path)
  })
  const functions = loaded.length === 0 ? declared : addLoaded(declared, loaded)
  if (!isJsonObject(choice) || choice.type !== 'allowed_tools') return functions
  const allowed = allowedNames(choice)
  return functions.filter((tool) => allowed.has(tool.function?.name))
}

/** Adds what is not declared yet: providers refuse two functions of one name. */
function addLoaded(declared: readonly Tool[], loaded: readonly FlatTool[]): readonly Tool[] {
  const functions = [...declared, ...loaded.flatMap((tool) => toFunctions(tool, 'input'))]
  const byName = new Map(functions.toReversed().map((tool) => [tool.function?.name, tool]))
  return functions.filter((tool) => byName.get(tool.function?.name) === tool)
}

/**
 * Throws 400 for a tool that a search found and models cannot get, with its place in the list at `path`.
 */
function checkFoundTools(tools: unknown, path: string): void {
  if (!Array.isArray(tools)) throw unsupportedToolError(path, typeof tools)
  for (const [index, tool] of tools.entries()) toFunctions(tool, `${path}[${index}]`)
}

/** The hosted tools that are not sent, by their type. */
export function findOmittedTools({ tools }: Pick<ResponsesBody, 'tools'>): readonly string[] {
  return (tools ?? []).filter((tool, _, all) => isOmitted(tool, all)).map(({ type }) => type)
}

/** A hosted tool is optional if the client says so, or if it offers tools of its own beside it. */
function isOmitted(tool: FlatTool, all: readonly FlatTool[]): boolean {
  if (!HOSTED_TOOL.test(tool.type) || isClientSearch(tool)) return false
  return tool.optional === true || all.some((other) => CLIENT_TOOLS.has(other.type) || isClientSearch(other))
}

const CLIENT_TOOLS: ReadonlySet<string> = new Set(['function', 'custom', 'namespace'])

function toFunctions(tool: FlatTool, path: string, namespace?: string): readonly Tool[] {
  const { type, name } = tool
  if (namespace === undefined && isClientSearch(tool)) return [toFunction(tool, TOOL_SEARCH)]
  if (typeof name !== 'string') throw unsupportedToolError(path, type)
  switch (type) {
    case 'function':
      return [toFunction(tool, toFunctionName(name, namespace))]
    case 'custom':
      return [toCustomFunction(tool, toFunctionName(name, namespace))]
    case 'namespace':
      if (namespace !== undefined || !Array.isArray(tool.tools)) throw unsupportedToolError(path, type)
      return tool.tools.flatMap((inner: FlatTool, index) =>
        toFunctions(inner, `${path}.tools[${index}]`, name),
      )
    default:
      throw unsupportedToolError(path, type)
  }
}

function toFunction({ description, parameters, strict }: FlatTool, name: string): Tool {
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(isJsonObject(parameters) && { parameters }),
      ...(strict != null && { strict }),
    },
  }
}

/** A grammar cannot be enforced everywhere, so the model reads it. */
function toCustomFunction({ description, format }: FlatTool, name: string): Tool {
  const { type, definition, syntax } = isJsonObject(format) ? format : {}
  const grammar = type === 'grammar' ? `The input must match this ${syntax} grammar:\n${definition}` : ''
  const text = [description, grammar].filter((each) => typeof each === 'string' && each !== '').join('\n\n')
  return {
    type: 'function',
    function: {
      name,
      ...(text !== '' && { description: text }),
      parameters: {
        type: 'object',
        properties: { input: { type: 'string', description: 'The input of the tool, as plain text.' } },
        required: ['input'],
        additionalProperties: false,
      },
    },
  }
}

function allowedNames({ tools }: JsonObject): ReadonlySet<unknown> {
  const named = Array.isArray(tools) ? tools.filter(isJsonObject) : []
  return new Set(
    named.map(({ type, name, namespace }) =>
      type === 'tool_search' ? TOOL_SEARCH : toFunctionName(String(name), namespace),
    ),
  )
}

/**
 * Converts `tool_choice` to the chat-completions format. `allowed_tools` becomes its mode, because
 * `toChatTools` has already applied its list. Throws 400 for a hosted tool.
 */
export function toChatToolChoice({ tool_choice: choice }: ResponsesBody): JsonObject {
  if (choice == null) return {}
  if (typeof choice === 'string') return { tool_choice: choice }
  switch (choice.type) {
    case 'function':
    case 'custom': {
      const name = toFunctionName(String(choice.name), choice.namespace)
      return { tool_choice: { type: 'function', function: { name } } }
    }
    case 'allowed_tools':
      return { tool_choice: choice.mode ?? 'auto' }
    default:
      throw unsupportedToolError('tool_choice', choice.type)
  }
}

function unsupportedToolError(param: string, type: unknown): GatewayError {
  const message =
    `${param} has type "${type}", which is not supported. Only function, custom and namespace tools are ` +
    'supported; hosted tools run only at OpenAI.'
  return new GatewayError('unsupported_parameter', message, { param })
}

// The search for tools that a client runs: the model calls it as a function, and the client returns
// definitions of tools, which models get from then on. See docs/api.md, "Tools of responses".

/** Converts the arguments of the function to those of the search. */
export function toSearchArguments(json: string): unknown {
  const value = parseJson(json)
  if (value !== undefined) return value
  // The model is not done, was cut off, or wrote no JSON.
  return json === '' ? {} : json
}

/**
 * Converts the tools that a search found to the result of the function, from which later turns read them.
 * Throws 400 for a tool that models cannot get; `path` is that of the item.
 */
export function toSearchResult({ tools }: JsonObject, path: string): string {
  checkFoundTools(tools, `${path}.tools`)
  return JSON.stringify({ tools })
}

/** Returns the tools in a result of `toSearchResult`; none in any other text. */
export function parseSearchResult(content: unknown): readonly FlatTool[] {
  const result = typeof content === 'string' ? parseJson(content) : undefined
  const tools = isJsonObject(result) && Array.isArray(result.tools) ? result.tools : []
  return tools.filter((tool): tool is FlatTool => isModelTool(tool, false))
}

/** A client can send any text as the result of a function, so it is not sure that the tools were checked. */
function isModelTool(tool: unknown, isInner: boolean): boolean {
  if (!isJsonObject(tool) || typeof tool.name !== 'string') return false
  if (tool.type !== 'namespace') return tool.type === 'function' || tool.type === 'custom'
  return !isInner && Array.isArray(tool.tools) && tool.tools.every((inner) => isModelTool(inner, true))
}

/**
 * Returns the tools that searches found in a conversation. Without a search among the tools of the request,
 * functions of its name are the client's own.
 */
export function findLoadedTools(
  messages: readonly Message[],
  declared: readonly FlatTool[] | null | undefined,
): readonly FlatTool[] {
  if (!declared?.some(isClientSearch)) return []
  const searches = new Set<string>()
  return messages.flatMap(({ role, tool_calls, tool_call_id, content }) => {
    for (const { id, function: called } of tool_calls ?? []) {
      if (called.name === TOOL_SEARCH) searches.add(id)
    }
    return role === 'tool' && searches.has(tool_call_id ?? '') ? parseSearchResult(content) : []
  })
}
