import type { JsonObject } from '../../contract/index.ts'
import { type ItemPosition, itemAdded, itemDone, itemId, type OutputItem } from './output-item.ts'

export interface MessageItem extends OutputItem {
  readonly type: 'message'
  add(kind: 'text' | 'refusal', text: string): void
}

interface Content {
  readonly kind: 'text' | 'refusal'
  text: string
}

/** What the model says: texts, or why it does not want to answer. */
export function createMessageItem(place: ItemPosition): MessageItem {
  const { index, emit } = place
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

  function begin(kind: Content['kind']): Content {
    finish()
    const content = { kind, text: '' }
    contents.push(content)
    emit?.({ type: 'response.content_part.added', ...where(), part: partOf(kind, '') })
    return content
  }

  /** Ends the content that is being written. */
  function finish(): void {
    const content = contents.at(-1)
    if (content === undefined) return
    const { kind, text } = content
    emit?.(
      kind === 'text'
        ? { type: 'response.output_text.done', ...where(), text, logprobs: [] }
        : { type: 'response.refusal.done', ...where(), refusal: text },
    )
    emit?.({ type: 'response.content_part.done', ...where(), part: partOf(kind, text) })
  }

  emit?.(itemAdded(index, show()))
  return {
    type: 'message',
    index,
    add(kind, text) {
      const last = contents.at(-1)
      const content = last?.kind === kind ? last : begin(kind)
      if (text === '') return
      content.text += text
      emit?.(
        kind === 'text'
          ? { type: 'response.output_text.delta', ...where(), delta: text, logprobs: [] }
          : { type: 'response.refusal.delta', ...where(), delta: text },
      )
    },
    close(ended) {
      finish()
      status = ended
      emit?.(itemDone(index, show()))
    },
    show,
  }
}

function partOf(kind: Content['kind'], text: string): JsonObject {
  return kind === 'text'
    ? { type: 'output_text', text, annotations: [], logprobs: [] }
    : { type: 'refusal', refusal: text }
}
