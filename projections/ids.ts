import type { SavedProjection } from './projection.ts'

/** Which numbers are taken for users and rules. */
export interface Ids extends SavedProjection {
  /** The lowest number that was never handed out. */
  next(): number
  /** Revision of the stream `ids`; -1 before the first number. */
  revision(): number
}

export function createIds(): Ids {
  let next = 1
  let revision = -1
  return {
    name: 'ids',
    apply(event, record) {
      if (event.type !== 'IdsReserved') return
      next = Math.max(next, event.data.first + event.data.count)
      revision = record.revision
    },
    next: () => next,
    revision: () => revision,
    save: () => [JSON.stringify([next, revision])],
    load(lines) {
      for (const line of lines) [next, revision] = JSON.parse(line.toString())
    },
  }
}
