import { type Author, EventLogUnavailableError } from '../core/contract/index.ts'
import { IDS_STREAM } from '../core/events/log-events.ts'
import type { FindKnownRequest } from '../core/http/change-headers.ts'
import type { SavedProjection } from './runtime/projection.ts'
import type { EventWriter } from './runtime/write.ts'

/** The ids that have been reserved for users and rules. */
export interface Ids extends SavedProjection {
  /** The lowest id that has not been reserved. */
  next(): number
  /** Revision of the stream `ids`; -1 before the first reservation. */
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

/**
 * Reserves ids that are unique across all nodes. See docs/decisions/event-log.md, "One id sequence for users
 * and rules".
 */
export interface IdSource {
  /** Resolves with the first of `count` consecutive ids. */
  reserve(count: number, author: Author): Promise<number>
  /** Resolves with the first id of the log; with undefined if it, or a later one, was reserved before. */
  reserveFirst(author: Author): Promise<number | undefined>
}

/** Reservations requested while another one is being written are combined into the next one. */
export function createIdSource(
  ids: Ids,
  writer: EventWriter,
  findKnownRequest: FindKnownRequest = () => undefined,
): IdSource {
  let pending: { count: number; first: Promise<number> } | undefined
  let running: Promise<unknown> = Promise.resolve()

  async function reserveBatch(batch: { count: number }, author: Author): Promise<number> {
    await running
    pending = undefined
    const written = writeReservation(() => batch.count, author)
    running = written.catch(() => undefined)
    return written
  }

  async function writeReservation(count: () => number, author: Author): Promise<number> {
    let first = 0
    const decide = () => {
      const known = author.idempotency && findKnownRequest(author.idempotency.key)
      first = known?.firstId ?? ids.next()
      if (known?.firstId !== undefined) return []
      return [{ type: 'IdsReserved' as const, data: { first, count: count() } }]
    }
    const command = { stream: IDS_STREAM, revision: ids.revision, decide, isInternal: true }
    await writer.write(command, author).catch(rethrowWithoutOutcome)
    return first
  }

  return {
    async reserveFirst(author) {
      const first = 1
      const decide = () =>
        ids.next() === first ? [{ type: 'IdsReserved' as const, data: { first, count: 1 } }] : []
      const command = { stream: IDS_STREAM, revision: ids.revision, decide, isInternal: true }
      return (await writer.write(command, author)) === undefined ? undefined : first
    },
    async reserve(count, author) {
      // A repeated request gets the ids of the first one, so that it appends to the same streams.
      if (author.idempotency !== undefined) return writeReservation(() => count, author)
      if (pending === undefined) {
        const batch = { count: 0 }
        pending = Object.assign(batch, { first: reserveBatch(batch, author) })
      }
      const offset = pending.count
      pending.count += count
      return (await pending.first) + offset
    },
  }
}

/**
 * Clears `outcomeUnknown`. Ids that were reserved but not used have no effect, so for the caller nothing has
 * changed either way.
 */
function rethrowWithoutOutcome(error: unknown): never {
  if (!EventLogUnavailableError.isInstance(error) || !error.outcomeUnknown) throw error
  throw new EventLogUnavailableError(error.message, { cause: error, transient: error.transient })
}
