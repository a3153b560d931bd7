import { isJsonObject, type JsonObject, type Message } from '../../contract/index.ts'
import { parseJson } from '../../util/json.ts'
import { checkFoundTools, isClientSearch, TOOL_SEARCH } from './client-tools.ts'
import type { FlatTool } from './tool-schemas.ts'

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
