import type { ChatRequest, ReplyPart, Tool, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { toHistoryArguments } from '../shared/call-arguments.ts'
import { asObject, asObjects, asString, toArgumentsJson } from '../shared/fields.ts'
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

/** Reads the `tool_calls` of a whole message: each entry is a call of its own. */
export function toToolCallParts(toolCalls: unknown): readonly ReplyPart[] {
  return asObjects(toolCalls).flatMap((call, index): readonly ReplyPart[] => {
    const { id, name, json, custom } = parseDelta(call)
    const start: ReplyPart = { type: 'tool-start', index, id, name, ...(custom && { custom }) }
    const isEmpty = json === '' || (!custom && json.trim() === 'null')
    return isEmpty ? [start] : [start, { type: 'tool-json', index, json }]
  })
}

/** The names of a request's tools, which a provider may send in pieces. */
export function toolNamesOf(request: Pick<ChatRequest, 'tools'> | undefined): readonly string[] {
  return (request?.tools ?? []).map(
    ({ function: tool, custom }) => tool?.name ?? asString(asObject(custom).name),
  )
}

interface Delta {
  readonly id: string
  readonly name: string
  readonly json: string
  readonly custom: true | undefined
}

interface OpenCall {
  index: number
  id: string
  name: string
  json: string
  readonly custom: true | undefined
  /** The provider numbered it. */
  readonly hasIndex: boolean
  /** Its name may not be complete, so that nothing of it was returned yet. */
  isHeld: boolean
}

/**
 * Reads the `tool_calls` of consecutive deltas. Numbers calls from 0 without gaps, regardless of the
 * provider's `index`. Providers of this format are known to omit the index, to number all parallel calls 0,
 * to repeat the name and the id in each delta, to change or lose the id, to send the name in pieces, to begin
 * with `{}` as arguments, and to send all arguments so far again. Stateful: create one per stream.
 */
export class ToolCallReader {
  readonly #names: readonly string[]
  readonly #byIndex = new Map<unknown, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  #latest: OpenCall | undefined
  #count = 0

  /** `names` are those of the request's tools. */
  constructor(names: readonly string[] = []) {
    this.#names = names
  }

  /** True if there was a call. */
  get hasCalls(): boolean {
    return this.#latest !== undefined
  }

  read(toolCalls: unknown): readonly ReplyPart[] {
    const deltas = asObjects(toolCalls)
    return deltas.flatMap((call, position) => {
      const index = call.index ?? (deltas.length > 1 ? position : undefined)
      return this.#readDelta(parseDelta(call), index)
    })
  }

  /** Returns the start of the latest call if it was held. */
  flush(): readonly ReplyPart[] {
    return this.#release(this.#latest)
  }

  #readDelta(delta: Delta, index: unknown): readonly ReplyPart[] {
    const { id, name, json } = delta
    const open = this.#find(delta, index)
    if (open === undefined || this.#startsAnother(open, delta)) return this.#open(delta, index)
    if (open.isHeld) {
      open.id ||= id
      if (name !== open.name) open.name += name
      if (json === '' && this.#mayContinue(open.name)) return []
    }
    const start = this.#release(open)
    const added = appendJson(open, json)
    return added === '' ? start : [...start, { type: 'tool-json', index: open.index, json: added }]
  }

  #find({ id, name }: Delta, index: unknown): OpenCall | undefined {
    if (index === undefined) return (id === '' ? undefined : this.#byId.get(id)) ?? this.#latest
    const open = this.#byIndex.get(index)
    if (open !== undefined || name !== '' || this.#latest?.hasIndex !== false) return open
    return id === '' || id === this.#latest.id ? this.#latest : undefined
  }

  /** A delta with a name begins another call if it has another id, or if the arguments were complete. */
  #startsAnother(open: OpenCall, { id, name, json }: Delta): boolean {
    if (name === '') return false
    if (id !== '' && open.id !== '' && id !== open.id) return true
    if (open.isHeld) return this.#names.includes(name) && !this.#mayBePiece(open.name, name)
    if (/\S/.test(json) && parseJsonObject(open.json) !== undefined) {
      const isRepeated = id !== '' && name === open.name && (json === open.json || isPlaceholder(open))
      return !isRepeated
    }
    return name !== open.name && this.#names.includes(name)
  }

  #mayBePiece(before: string, piece: string): boolean {
    return before === piece || this.#names.some((name) => name.startsWith(before + piece))
  }

  #mayContinue(name: string): boolean {
    return name === '' || this.#names.some((other) => other.length > name.length && other.startsWith(name))
  }

  #open({ id, name, json, custom }: Delta, index: unknown): readonly ReplyPart[] {
    const earlier = this.flush()
    const isHeld = json === '' && this.#mayContinue(name)
    const hasIndex = index !== undefined
    const call = { index: this.#count++, id, name, json: '', custom, hasIndex, isHeld: true }
    this.#latest = call
    if (index !== undefined) this.#byIndex.set(index, call)
    if (id !== '') this.#byId.set(id, call)
    if (isHeld) return earlier
    const start = this.#release(call)
    const parts = earlier.length === 0 ? start : [...earlier, ...start]
    const added = appendJson(call, json)
    return added === '' ? parts : [...parts, { type: 'tool-json', index: call.index, json: added }]
  }

  #release(call: OpenCall | undefined): readonly ReplyPart[] {
    if (!call?.isHeld) return []
    call.isHeld = false
    const { index, id, name, custom } = call
    return [{ type: 'tool-start', index, id, name, ...(custom && { custom }) }]
  }
}

/** `{}` as the first arguments, which other ones may follow. Calls that remain without get it at the end. */
function isPlaceholder({ json, custom }: OpenCall): boolean {
  return json === '{}' && !custom
}

/** Adds arguments to those so far. Returns what is new of them: some providers begin again from the start. */
function appendJson(open: OpenCall, json: string): string {
  const { json: earlier, custom } = open
  if (custom || !json.startsWith('{')) {
    open.json += json
    return json
  }
  if (earlier === '' || isPlaceholder(open)) {
    open.json = json
    return isPlaceholder(open) ? '' : json
  }
  if (json.startsWith(earlier)) {
    open.json = json
    return json.slice(earlier.length)
  }
  if (parseJsonObject(earlier) !== undefined) return ''
  open.json += json
  return json
}

function parseDelta(call: JsonObject): Delta {
  const custom = isJsonObject(call.custom) ? call.custom : undefined
  const { name, arguments: json } = asObject(call.function)
  return {
    id: toToolCallId(call.id),
    name: asString(custom ? custom.name : name),
    json: custom ? asString(custom.input) : toArgumentsJson(json),
    custom: custom && true,
  }
}

/** Mistral sends the string `"null"` in deltas without an id. Some providers send numbers. */
function toToolCallId(id: unknown): string {
  if (typeof id === 'number') return String(id)
  return id === 'null' ? '' : asString(id)
}
