import type { Position } from '../core/contract/index.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** Events between two marks. A part of the log between two marks is read at once. */
const EVENTS_PER_MARK = 1000

/** Positions at regular distances in the log, by which it is read backwards in parts. */
export interface Timeline extends SavedProjection {
  /** Ascending; each is the position of an event. */
  marks(): readonly Position[]
}

export function createTimeline(): Timeline {
  let count = 0
  let marks: Position[] = []

  return {
    name: 'timeline',
    apply(_, { position }) {
      count += 1
      if (count % EVENTS_PER_MARK === 0) marks.push(position)
    },
    marks: () => marks,
    save: () => [JSON.stringify([count, marks])],
    load(lines) {
      for (const line of lines) [count, marks] = JSON.parse(line.toString())
    },
  }
}
