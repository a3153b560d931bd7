import type { NewEvent, Upcasts } from '../contract/index.ts'

/**
 * The shapes that events once had. A change to a shape makes a new schema version in the codec and a function here,
 * with a test that reads an event as the old version wrote it. Events in the log are never rewritten.
 */
export const UPCASTS: Upcasts = {}

/** The event as the version `to` would have written it. */
export function upcast(event: NewEvent, from: number, to: number, upcasts: Upcasts): NewEvent {
  let current = event
  for (let version = from; version < to; version++) {
    const step = upcasts[version]
    if (step && Object.hasOwn(step, current.type)) current = step[current.type]?.(current) ?? current
  }
  return current
}
