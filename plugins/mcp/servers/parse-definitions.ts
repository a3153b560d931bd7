import { isJsonObject } from '../../../core/contract/index.ts'
import { canonicalJson, sha256 } from '../../../core/util/canonical-json.ts'
import { createCooperativeYield } from '../../../core/util/cooperative-yield.ts'
import type { ToolDefinition } from './list-tools.ts'

/** A definition that can be recorded. */
export interface ListedTool {
  readonly name: string
  readonly definition: ToolDefinition
  /** SHA-256 of the canonical JSON of all of it, in hex. */
  readonly digest: string
  readonly bytes: number
}

/** A definition that is neither recorded nor served. */
interface RefusedTool {
  /** As the server lists it, at most 128 characters. Characters that are not in ASCII are escaped. */
  readonly name: string
  /** As the end of a sentence. */
  readonly reason: string
}

export interface ParsedDefinitions {
  readonly tools: readonly ListedTool[]
  readonly refused: readonly RefusedTool[]
}

/** Names of which no two look alike, without characters that nobody sees. */
export const TOOL_NAME = /^[A-Za-z0-9_./-]{1,128}$/

/** A definition is one event, and a model reads it with every request. */
const MAX_DEFINITION_BYTES = 128 * 1024
const MAX_DEPTH = 64
export const MAX_TOOLS = 2000

/**
 * Checks what a server has listed. See docs/decisions/tools.md, "All of a definition is pinned". Does not
 * block the event loop, however much it is.
 */
export async function parseDefinitions(definitions: readonly unknown[]): Promise<ParsedDefinitions> {
  const slice = createCooperativeYield()
  const tools = new Map<string, ListedTool>()
  const refused: RefusedTool[] = []
  for (const definition of definitions) {
    if (slice.isDue()) await slice.yieldNow()
    const name = isJsonObject(definition) && typeof definition.name === 'string' ? definition.name : ''
    const refuse = (reason: string) => refused.push({ name: escapeName(name), reason })
    if (!isJsonObject(definition) || !TOOL_NAME.test(name)) {
      refuse('its name may have letters of ASCII, digits, _, -, . and / only, and 128 characters')
      continue
    }
    if (tools.has(name)) refuse('the server lists another tool with this name')
    else if (tools.size >= MAX_TOOLS) refuse(`the server lists more than ${MAX_TOOLS} tools`)
    else if (isDeeper(definition, MAX_DEPTH)) refuse(`it is nested more than ${MAX_DEPTH} levels deep`)
    else {
      const text = canonicalJson(definition)
      const bytes = Buffer.byteLength(text)
      if (bytes > MAX_DEFINITION_BYTES) refuse(`it has more than ${MAX_DEFINITION_BYTES} bytes`)
      else tools.set(name, { name, definition, digest: sha256(text), bytes })
    }
  }
  return { tools: [...tools.values()], refused }
}

function escapeName(name: string): string {
  const escaped = name.replaceAll(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return escaped.slice(0, 128)
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1))
}
