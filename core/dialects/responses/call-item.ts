import type { JsonObject, ToolStart } from '../../contract/index.ts'
import { type ItemPosition, itemAdded, itemDone, itemId, type OutputItem } from './output-item.ts'

export interface CallItem extends OutputItem {
  readonly type: 'function_call'
  add(json: string): void
}

/** A function that the model calls. `extra_content` is what its vendor wants back with the result. */
export function createCallItem(
  place: ItemPosition,
  { id: call_id, name, extra_content }: ToolStart,
): CallItem {
  const { index, emit } = place
  const id = itemId('fc', place)
  const where = { item_id: id, output_index: index }
  let json = ''
  let status = 'in_progress'

  const show = (): JsonObject => ({
    id,
    type: 'function_call',
    status,
    call_id,
    name,
    arguments: json,
    ...(extra_content && { extra_content }),
  })

  emit?.(itemAdded(index, show()))
  return {
    type: 'function_call',
    index,
    add(delta) {
      json += delta
      emit?.({ type: 'response.function_call_arguments.delta', ...where, delta })
    },
    close(ended) {
      status = ended
      emit?.({ type: 'response.function_call_arguments.done', ...where, name, arguments: json })
      emit?.(itemDone(index, show()))
    },
    show,
  }
}
