import type { JsonObject } from '../../contract/index.ts'

/** A stream event of the Responses API, before it is numbered. */
export type OutputEvent = JsonObject & { readonly type: string }

/** `completed`, or `incomplete` when it was cut off. */
export type ItemStatus = 'completed' | 'incomplete'

/** Where an item stands: all that its id is made of. */
export interface Place {
  readonly seed: string
  readonly index: number
}

/** An item of the output as it grows. */
export interface OutputItem {
  /** Its place in the output. */
  readonly index: number
  open(): readonly OutputEvent[]
  close(status: ItemStatus): readonly OutputEvent[]
  /** The item as it is now. */
  show(): JsonObject
}

/** `msg_…`, `fc_…`, `rs_…`: the response's seed and the place in its output, so the same item has the same id at every replay. */
export function itemId(prefix: 'msg' | 'fc' | 'rs', { seed, index }: Place): string {
  return `${prefix}_${seed}${String(index).padStart(2, '0')}`
}

export function itemAdded(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.added', output_index: index, item }
}

export function itemDone(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.done', output_index: index, item }
}
