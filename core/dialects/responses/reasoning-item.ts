import type { JsonObject } from '../../contract/index.ts'
import { itemAdded, itemDone, itemId, type OutputEvent, type OutputItem, type Place } from './output-item.ts'

export interface ReasoningItem extends OutputItem {
  readonly type: 'reasoning'
  add(text: string): readonly OutputEvent[]
}

/** What the model thinks, as far as its vendor shows it: one summary. */
export function createReasoningItem(place: Place): ReasoningItem {
  const { index } = place
  const id = itemId('rs', place)
  const where = { item_id: id, output_index: index, summary_index: 0 }
  let text = ''
  let status = 'in_progress'

  const part = () => ({ type: 'summary_text', text })
  const show = (): JsonObject => ({ id, type: 'reasoning', status, summary: text === '' ? [] : [part()] })

  return {
    type: 'reasoning',
    index,
    open: () => [
      itemAdded(index, show()),
      { type: 'response.reasoning_summary_part.added', ...where, part: part() },
    ],
    add(delta) {
      text += delta
      return [{ type: 'response.reasoning_summary_text.delta', ...where, delta }]
    },
    close(ended) {
      status = ended
      return [
        { type: 'response.reasoning_summary_text.done', ...where, text },
        { type: 'response.reasoning_summary_part.done', ...where, part: part() },
        itemDone(index, show()),
      ]
    },
    show,
  }
}
