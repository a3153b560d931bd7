import { createHash } from 'node:crypto'
import type { ChatRequest, ContentPart, Message } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ApiLimits, TextLimit } from '../../core/contract/provider.ts'
import { asObject, asObjects } from './fields.ts'

/** What texts are sent as, by the caller's. Texts that fit are not in it. */
type Replacements = ReadonlyMap<unknown, string>

const NONE: Replacements = new Map()

/** Returns the form that a text has at a provider; `salt` distinguishes texts that would have the same. */
type Shorten = (text: string, limit: TextLimit, salt: string) => string

/** A request whose names and ids fit. `renamed`: the caller's names of tools by those that were sent. */
interface NamedRequest {
  readonly request: ChatRequest
  readonly renamed?: ReadonlyMap<unknown, string>
}

/**
 * Replaces names of tools and ids of calls that the API refuses, everywhere in a request. The same text is
 * always replaced by the same one, so that the provider's cache of prompts holds from turn to turn, and
 * different texts stay different. Returns the same request if everything fits.
 */
export function fitNames(request: ChatRequest, { toolNames, callIds }: ApiLimits): NamedRequest {
  let isFit = true
  const check = (limit: TextLimit | undefined) => (text: string) => {
    if (limit !== undefined && !limit.pattern.test(text)) isFit = false
  }
  visitTexts(request, check(toolNames), check(callIds))
  if (isFit) return { request }
  const names = new Set<string>()
  const ids = new Set<string>()
  visitTexts(
    request,
    (name) => names.add(name),
    (id) => ids.add(id),
  )
  const newNames = findReplacements(names, toolNames, shortenName)
  const newIds = findReplacements(ids, callIds, hashId)
  const renamed = new Map([...newNames].map(([name, sent]) => [sent, String(name)]))
  return { request: withTexts(request, newNames, newIds), ...(renamed.size > 0 && { renamed }) }
}

/** Calls a function for each name of a tool and each id of a call. */
function visitTexts(
  { tools, messages }: ChatRequest,
  onName: (name: string) => void,
  onId: (id: string) => void,
): void {
  const visit = (value: unknown, callback: (text: string) => void) => {
    if (typeof value === 'string') callback(value)
  }
  if (tools != null) for (const tool of tools) visit(nameOf(tool), onName)
  for (const { role, name, tool_calls, tool_call_id } of messages) {
    if (tool_calls != null)
      for (const call of tool_calls) {
        visit(call.id, onId)
        visit(nameOf(call), onName)
      }
    if (tool_call_id !== undefined) visit(tool_call_id, onId)
    if (role === 'tool') visit(name, onName)
  }
}

/** The name in `{function: {name}}` or `{custom: {name}}`. */
function nameOf({ function: called, custom }: JsonObject): unknown {
  return asObject(called ?? custom).name
}

function findReplacements(texts: ReadonlySet<string>, limit: TextLimit | undefined, shorten: Shorten) {
  if (limit === undefined) return NONE
  const used = new Set([...texts].filter((text) => limit.pattern.test(text)))
  const replacements = new Map<unknown, string>()
  for (const text of texts) {
    if (used.has(text)) continue
    let short = shorten(text, limit, '')
    for (let salt = 1; used.has(short); salt++) short = shorten(text, limit, `#${salt}`)
    used.add(short)
    replacements.set(text, short)
  }
  return replacements
}

/** Characters of the hash that a shortened name ends with. */
const HASH_CHARS = 8

/** Of a name that is too long, the beginning is kept, and more of the end: that of the tool itself. */
const HEAD_CHARS = 16

/** Returns a name of letters, digits, `_` and `-` that tells what the original said, with a hash of it. */
export function shortenName(name: string, { maxChars }: TextLimit, salt = ''): string {
  const plain = name.replace(/[^\w-]+/g, '_')
  const valid = /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`
  const room = maxChars - HASH_CHARS - 1
  const kept =
    valid.length > room ? `${valid.slice(0, HEAD_CHARS)}_${valid.slice(HEAD_CHARS + 1 - room)}` : valid
  return `${kept}_${hashText(name + salt, HASH_CHARS)}`
}

const ID_CHARS = 24

function hashId(id: string, { maxChars }: TextLimit, salt: string): string {
  return hashText(id + salt, Math.min(maxChars, ID_CHARS))
}

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Returns up to 32 letters and digits. */
function hashText(text: string, chars: number): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, chars)
  return Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
}

function withTexts(request: ChatRequest, names: Replacements, ids: Replacements): ChatRequest {
  const { tools, tool_choice: choice, messages } = request
  return {
    ...request,
    messages: messages.map((message) => withTextsOf(message, names, ids)),
    ...(tools != null && { tools: tools.map((tool) => withName(tool, names)) }),
    ...(isJsonObject(choice) && { tool_choice: withChosenNames(choice, names) }),
  }
}

function withChosenNames(choice: JsonObject, names: Replacements): JsonObject {
  const { allowed_tools: allowed } = choice
  if (!isJsonObject(allowed)) return withName(choice, names)
  const tools = asObjects(allowed.tools).map((tool) => withName(tool, names))
  return { ...choice, allowed_tools: { ...allowed, tools } }
}

/** Replaces the name in `{function: {name}}` or `{custom: {name}}`. */
function withName<Named extends JsonObject>(value: Named, names: Replacements): Named {
  const kind = value.function === undefined ? 'custom' : 'function'
  const called = asObject(value[kind])
  const name = names.get(called.name)
  return name === undefined ? value : { ...value, [kind]: { ...called, name } }
}

function withTextsOf(message: Message, names: Replacements, ids: Replacements): Message {
  const { role, name, content, tool_calls, tool_call_id } = message
  const toolName = role === 'tool' ? names.get(name) : undefined
  const callId = ids.get(tool_call_id)
  return {
    ...message,
    ...(toolName !== undefined && { name: toolName }),
    ...(callId !== undefined && { tool_call_id: callId }),
    ...(tool_calls != null && {
      tool_calls: tool_calls.map((call) => ({ ...withName(call, names), id: ids.get(call.id) ?? call.id })),
    }),
    ...(Array.isArray(content) && { content: content.map((part) => withMarkedId(part, ids)) }),
  }
}

/** In Anthropic's format, a part marks the place of a call by its id. */
function withMarkedId(part: ContentPart, ids: Replacements): ContentPart {
  const anthropic = part.extra_content?.anthropic
  const id = anthropic?.type === 'tool_use' ? ids.get(anthropic.id) : undefined
  if (id === undefined) return part
  return { ...part, extra_content: { ...part.extra_content, anthropic: { ...anthropic, id } } }
}
