import type { JsonObject } from '../../contract/index.ts'

/** A stream event of the Responses API, before it is numbered. */
export type OutputEvent = JsonObject & { readonly type: string }

/** `completed`, or `incomplete` when it was cut off. */
export type ItemStatus = 'completed' | 'incomplete'

/** Hears of the events of an output, one after the other. */
export type Emit = (event: OutputEvent) => void

/** Where an item stands: seed and index are all that its id is made of. A whole answer has no use for events, and makes none. */
export interface ItemPosition {
  readonly seed: string
  readonly index: number
  readonly emit: Emit | undefined
}

/** An item of the output as it grows; it tells of its beginning as soon as it is made. */
export interface OutputItem {
  /** Its place in the output. */
  readonly index: number
  close(status: ItemStatus): void
  /** The item as it is now. */
  show(): JsonObject
}

/** `msg_…`, `fc_…`, `rs_…`: the response's seed and the place in its output, so the same item has the same id at every replay. */
export function itemId(prefix: 'msg' | 'fc' | 'rs', { seed, index }: ItemPosition): string {
  return `${prefix}_${seed}${String(index).padStart(2, '0')}`
}

export function itemAdded(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.added', output_index: index, item }
}

export function itemDone(index: number, item: JsonObject): OutputEvent {
  return { type: 'response.output_item.done', output_index: index, item }
}
