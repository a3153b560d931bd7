import type { JsonObject } from '../../contract/index.ts'
import { type ItemPosition, itemAdded, itemDone, itemId, type OutputItem } from './output-item.ts'

export interface ReasoningItem extends OutputItem {
  readonly type: 'reasoning'
  add(text: string): void
}

/** What the model thinks, as far as its vendor shows it: one summary. */
export function createReasoningItem(place: ItemPosition): ReasoningItem {
  const { index, emit } = place
  const id = itemId('rs', place)
  const where = { item_id: id, output_index: index, summary_index: 0 }
  let text = ''
  let status = 'in_progress'

  const part = () => ({ type: 'summary_text', text })
  const show = (): JsonObject => ({ id, type: 'reasoning', status, summary: text === '' ? [] : [part()] })

  emit?.(itemAdded(index, show()))
  emit?.({ type: 'response.reasoning_summary_part.added', ...where, part: part() })
  return {
    type: 'reasoning',
    index,
    add(delta) {
      text += delta
      emit?.({ type: 'response.reasoning_summary_text.delta', ...where, delta })
    },
    close(ended) {
      status = ended
      emit?.({ type: 'response.reasoning_summary_text.done', ...where, text })
      emit?.({ type: 'response.reasoning_summary_part.done', ...where, part: part() })
      emit?.(itemDone(index, show()))
    },
    show,
  }
}
