import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart } from '../../core/contract/reply.ts'
import { readString } from '../read-fields.ts'

/** Reads the `tool_calls` of a message, or of one delta after another. It keeps state: one reader per reply. */
export type ToolCallReader = (toolCalls: unknown) => readonly ReplyPart[]

interface OpenCall {
  readonly index: number
  readonly id: string
}

/**
 * Counts calls from 0 without gaps, whatever the vendor's `index` says. Vendors of this format are known to leave the
 * index out, to number all parallel calls 0, and to repeat, change or lose a call's id on later pieces; a new call is
 * one with a new index, or with a name and a new id.
 */
export function createToolCallReader(): ToolCallReader {
  /** By the vendor's index, and by id for pieces without one. */
  const calls = new Map<unknown, OpenCall>()
  let count = 0

  function readCall(call: JsonObject, piece: JsonObject, position: number): ReplyPart[] {
    const id = readId(call.id)
    const name = readString(piece.name)
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
  return id === 'null' ? '' : readString(id)
}

/** Mistral may send the arguments as the object that their text stands for. */
function readArguments(given: unknown): string {
  return isJsonObject(given) ? JSON.stringify(given) : readString(given)
}
