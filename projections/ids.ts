import { type Author, EventLogUnavailableError } from '../core/contract/index.ts'
import { IDS_STREAM } from '../core/events/domain-events.ts'
import type { SavedProjection } from './projection.ts'
import type { EventWriter } from './runtime/write.ts'

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

/** Hands out numbers that no node ever hands out again. */
export interface IdSource {
  /** The first of `count` consecutive numbers. */
  reserve(count: number, author: Author): Promise<number>
}

/** Requests that arrive while a reservation is on its way to the log share the next one. */
export function createIdSource(ids: Ids, writer: EventWriter): IdSource {
  let waiting: { count: number; first: Promise<number> } | undefined
  let running: Promise<unknown> = Promise.resolve()

  async function reserveAll(group: { count: number }, author: Author): Promise<number> {
    await running
    waiting = undefined
    let first = 0
    const decide = () => {
      first = ids.next()
      return [{ type: 'IdsReserved' as const, data: { first, count: group.count } }]
    }
    const command = { stream: IDS_STREAM, revision: ids.revision, decide, isInternal: true }
    const written = writer.write(command, author)
    running = written.catch(() => undefined)
    await written.catch(forgive)
    return first
  }

  return {
    async reserve(count, author) {
      if (waiting === undefined) {
        const group = { count: 0 }
        waiting = Object.assign(group, { first: reserveAll(group, author) })
      }
      const offset = waiting.count
      waiting.count += count
      return (await waiting.first) + offset
    },
  }
}

/** Numbers that were taken and are not used are not seen: for the caller nothing was changed either way. */
function forgive(error: unknown): never {
  if (!EventLogUnavailableError.isInstance(error) || !error.outcomeUnknown) throw error
  throw new EventLogUnavailableError(error.message, { cause: error, transient: error.transient })
}
