/** How rules name a tool of a client. */
export interface NamedTool {
  readonly server: string
  readonly tool: string
}

/** The name of a tool that a model sees, as rules read it. */
export interface ReadName {
  /** Usually one. The strictest verdict about any of them counts. */
  readonly readings: readonly NamedTool[]
  /** The name mixes scripts whose letters look alike, so it may pass for another one. */
  readonly isDeceptive: boolean
}

/** The server of tools that are not those of an MCP server. */
export const CLIENT = 'client'

const SEPARATOR = '__'
const MCP = `mcp${SEPARATOR}`

/**
 * Reads the name that a model sees: `mcp__server__tool`, `server__tool`, or that of a tool of the client
 * itself. An agent that has this gateway as an MCP server calls `mcp__gateway__server__tool`: rules see both
 * the server of the agent and that of the gateway.
 */
export function readToolName(name: string): ReadName {
  const isPlain = PLAIN.test(name)
  const text = isPlain ? name : name.normalize('NFKC').replace(INVISIBLE, '')
  const isDeceptive = !isPlain && LATIN.test(text) && LOOKALIKE.test(text)
  if (!text.startsWith(MCP)) return { readings: [split(text)], isDeceptive }
  const outer = split(text.slice(MCP.length))
  const inner = split(outer.tool)
  const isNested = outer.server !== CLIENT && inner.server !== CLIENT
  return { readings: isNested ? [outer, inner] : [outer], isDeceptive }
}

function split(name: string): NamedTool {
  const at = name.indexOf(SEPARATOR, 1)
  if (at < 1 || at + SEPARATOR.length >= name.length) return { server: CLIENT, tool: name }
  return { server: name.slice(0, at), tool: name.slice(at + SEPARATOR.length) }
}

const PLAIN = /^[!-~]*$/
/** What does not show, and joins other characters. */
const INVISIBLE = /[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]/gu
const LATIN = /\p{Script=Latin}/u
const LOOKALIKE = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u
