import { createHash } from 'node:crypto'
import type { ChatRequest } from '../../core/contract/chat.ts'
import { toNamedToolChoice } from '../chat-format/tools.ts'
import type { MistralToolChoice } from './wire.ts'

export function toMistralToolChoice(choice: ChatRequest['tool_choice']): MistralToolChoice | undefined {
  switch (choice) {
    case 'auto':
    case 'none':
    case 'any':
      return choice
    case 'required':
      return 'any'
    default:
      return toNamedToolChoice(choice)
  }
}

/** Maps the id of a tool call to an id that Mistral accepts; always to the same one. */
export type ToolCallIdMapper = (id: string) => string

/**
 * Mistral accepts only ids of exactly 9 letters and digits (its error 3280). Other ids are hashed, so that a
 * conversation keeps its ids from turn to turn; different ids of one request stay different. Stateful: create
 * one per request.
 */
export function createToolCallIdMapper(hash: (id: string) => string = hashToMistralId): ToolCallIdMapper {
  const mapped = new Map<string, string>()
  const used = new Set<string>()

  function choose(id: string): string {
    if (MISTRAL_ID.test(id) && !used.has(id)) return id
    let hashed = hash(id)
    for (let salt = 1; used.has(hashed); salt++) hashed = hash(`${id}#${salt}`)
    return hashed
  }

  return (id) => {
    const mistralId = mapped.get(id) ?? choose(id)
    mapped.set(id, mistralId)
    used.add(mistralId)
    return mistralId
  }
}

const MISTRAL_ID = /^[A-Za-z0-9]{9}$/
const ID_CHARS = 9
const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function hashToMistralId(id: string): string {
  const bytes = createHash('sha256').update(id).digest().subarray(0, ID_CHARS)
  return Array.from(bytes, (byte) => BASE62.charAt(byte % BASE62.length)).join('')
}
