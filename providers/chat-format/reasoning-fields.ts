import type { ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { asObjects } from '../shared/fields.ts'

/** The reasoning text of a message or delta: newer vLLM, Ollama and OpenRouter call the field `reasoning`. */
export function reasoningTextOf({ reasoning_content, reasoning }: JsonObject): unknown {
  return reasoning_content ?? reasoning
}

/**
 * Collects how a provider writes its reasoning, if it is not in `reasoning_content` alone, so that it gets it
 * back in the same fields. Stateful: create one per reply.
 */
export class ReasoningFields {
  #isNamedReasoning = false
  #details: readonly JsonObject[] = []

  /** Adds a message or delta. */
  add({ reasoning_content, reasoning, reasoning_details }: JsonObject): void {
    if (reasoning_content == null && typeof reasoning === 'string' && reasoning !== '')
      this.#isNamedReasoning = true
    if (Array.isArray(reasoning_details))
      this.#details = asObjects(reasoning_details).reduce(appendDetail, this.#details)
  }

  /** Returns what was added since the last call, for clients that cannot send it back as it was. */
  take(): readonly ReplyPart[] {
    if (!this.#isNamedReasoning && this.#details.length === 0) return NO_PARTS
    const chat = {
      ...(this.#isNamedReasoning && { field: 'reasoning' }),
      ...(this.#details.length > 0 && { reasoning_details: this.#details }),
    }
    this.#isNamedReasoning = false
    this.#details = []
    return [{ type: 'extra', place: 'block', content: { chat } }]
  }
}

const NO_PARTS: readonly ReplyPart[] = []

/** Streams have the texts of a detail in pieces. */
function appendDetail(details: readonly JsonObject[], detail: JsonObject): readonly JsonObject[] {
  const last = details.at(-1)
  if (last === undefined || last.type !== detail.type || last.index !== detail.index)
    return [...details, detail]
  const merged: Record<string, unknown> = { ...last }
  for (const [name, value] of Object.entries(detail)) {
    const earlier = merged[name]
    if (TEXTS.has(name) && typeof earlier === 'string' && typeof value === 'string')
      merged[name] = earlier + value
    else if (value != null) merged[name] = value
  }
  return [...details.slice(0, -1), merged]
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'summary', 'data'])
