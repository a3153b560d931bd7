import type { JsonObject } from '../../contract/index.ts'
import { itemAdded, itemDone, itemId, type OutputEvent, type OutputItem, type Place } from './output-item.ts'

export interface MessageItem extends OutputItem {
  readonly type: 'message'
  add(kind: 'text' | 'refusal', text: string): readonly OutputEvent[]
}

interface Content {
  readonly kind: 'text' | 'refusal'
  text: string
}

/** What the model says: texts, or why it does not want to answer. */
export function createMessageItem(place: Place): MessageItem {
  const { index } = place
  const id = itemId('msg', place)
  const contents: Content[] = []
  let status = 'in_progress'

  const show = (): JsonObject => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: contents.map(({ kind, text }) => partOf(kind, text)),
  })
  const where = () => ({ item_id: id, output_index: index, content_index: contents.length - 1 })

  function begin(kind: Content['kind']): readonly OutputEvent[] {
    const ended = finish()
    contents.push({ kind, text: '' })
    return [...ended, { type: 'response.content_part.added', ...where(), part: partOf(kind, '') }]
  }

  /** Ends the content that is being written. */
  function finish(): readonly OutputEvent[] {
    const content = contents.at(-1)
    if (content === undefined) return []
    const { kind, text } = content
    const done =
      kind === 'text'
        ? { type: 'response.output_text.done', ...where(), text, logprobs: [] }
        : { type: 'response.refusal.done', ...where(), refusal: text }
    return [done, { type: 'response.content_part.done', ...where(), part: partOf(kind, text) }]
  }

  return {
    type: 'message',
    index,
    open: () => [itemAdded(index, show())],
    add(kind, text) {
      const begun = contents.at(-1)?.kind === kind ? [] : begin(kind)
      const content = contents.at(-1)
      if (content === undefined || text === '') return begun
      content.text += text
      const delta =
        kind === 'text'
          ? { type: 'response.output_text.delta', ...where(), delta: text, logprobs: [] }
          : { type: 'response.refusal.delta', ...where(), delta: text }
      return [...begun, delta]
    },
    close(ended) {
      const events = finish()
      status = ended
      return [...events, itemDone(index, show())]
    },
    show,
  }
}

function partOf(kind: Content['kind'], text: string): JsonObject {
  return kind === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'refusal', refusal: text }
}
