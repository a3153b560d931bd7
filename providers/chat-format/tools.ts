import type { ChatRequest, ReplyPart, Tool, ToolCall } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asString } from '../shared/fields.ts'

/** A function that the model may call. */
export interface FunctionTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters: JsonObject
    readonly strict?: boolean
  }
}

/** The functions on offer; undefined when there are none, for strict providers refuse an empty list. */
export function toChatTools(tools: ChatRequest['tools']): readonly FunctionTool[] | undefined {
  return tools == null || tools.length === 0 ? undefined : tools.map(writeTool)
}

/** Providers that want a schema get one that takes no arguments. */
const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} }

function writeTool({ type, function: given }: Tool): FunctionTool {
  if (type !== 'function' || given === undefined) {
    const message = `Tools of type ${type} are not supported by this provider. Use functions.`
    throw new GatewayError('unsupported_parameter', message, { param: 'tools' })
  }
  const { name, description, parameters, strict } = given
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

/** The function that must be called. */
export interface NamedChoice {
  readonly type: 'function'
  readonly function: { readonly name: string }
}

/** Reads `{type:"function", function:{name}}`. */
export function parseNamedChoice(choice: ChatRequest['tool_choice']): NamedChoice | undefined {
  const named = isJsonObject(choice) && isJsonObject(choice.function) ? asString(choice.function.name) : ''
  return named === '' ? undefined : { type: 'function', function: { name: named } }
}

/** A call that the model made earlier. */
export interface EarlierCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A call of the history under the given id, with nothing but what every provider knows. */
export function toChatToolCall({ function: called }: ToolCall, id: string): EarlierCall {
  return { id, type: 'function', function: { name: called.name, arguments: called.arguments } }
}

/** Reads the `tool_calls` of a message, or of one delta after another. It keeps state: one reader per reply. */
type ToolCallReader = (toolCalls: unknown) => readonly ReplyPart[]

interface OpenCall {
  readonly index: number
  readonly id: string
}

/**
 * Counts calls from 0 without gaps, whatever the provider's `index` says. Providers of this format are known to leave the
 * index out, to number all parallel calls 0, and to repeat, change or lose a call's id on later pieces; a new call is
 * one with a new index, or with a name and a new id.
 */
export function createToolCallReader(): ToolCallReader {
  /** By the provider's index, and by id for pieces without one. */
  const calls = new Map<unknown, OpenCall>()
  let count = 0

  function readCall(call: JsonObject, piece: JsonObject, position: number): ReplyPart[] {
    const id = readId(call.id)
    const name = asString(piece.name)
    const json = readArguments(piece.arguments)
    const place = call.index ?? position
    const parts: ReplyPart[] = []
    let open = (call.index == null ? calls.get(id) : undefined) ?? calls.get(place)
    if (open === undefined || (name !== '' && id !== '' && id !== open.id)) {
      open = { index: count++, id }
      calls.set(place, open)
      if (id !== '') calls.set(id, open)
      parts.push({ type: 'tool-start', index: open.index, id, name })
    }
    if (json !== '') parts.push({ type: 'tool-json', index: open.index, json })
    return parts
  }

  return (toolCalls) => {
    if (!Array.isArray(toolCalls)) return []
    return toolCalls
      .filter(isJsonObject)
      .flatMap((call, position) =>
        isJsonObject(call.function) ? readCall(call, call.function, position) : [],
      )
  }
}

/** Mistral writes `"null"` on pieces that have none. */
function readId(id: unknown): string {
  return id === 'null' ? '' : asString(id)
}

/** Mistral may send the arguments as the object that their text stands for. */
function readArguments(given: unknown): string {
  return isJsonObject(given) ? JSON.stringify(given) : asString(given)
}
