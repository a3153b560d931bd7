import { createClock } from '../../core/clock.ts'
import type { Account, EventLog, JsonObject } from '../../core/contract/index.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { type ResponseEvent, responseStream, type StoredResponse } from '../../core/events/responses.ts'

/** Responses on the event log, by seed: the 24 characters that `resp_…` shares with the `req_…` of its call. */
export interface ResponseStore {
  /** The user's response; undefined for one that is another user's, is gone, or was never there. */
  find(seed: string, userId: number): Promise<StoredResponse | undefined>
  /** Resolves when it is on disk. */
  save(seed: string, event: ResponseEvent, by: Account): Promise<unknown>
  /** For good. */
  remove(seed: string): Promise<void>
}

/** `maxAge` in whole seconds. */
export function createResponseStore(log: EventLog, maxAge: number): ResponseStore {
  const clock = createClock()
  return {
    find: (seed, userId) => findResponse(log, seed, userId),
    save(seed, { type, data }, { keyId }) {
      const metadata = createMetadata(keyId, clock(), `req_${seed}`)
      // The cast is safe: it is what JSON can hold.
      const event = { type, data: data as StoredResponse & JsonObject }
      return log.append(responseStream(seed), [event], { expectedRevision: -1, metadata, maxAge })
    },
    remove: (seed) => log.deleteStream(responseStream(seed)),
  }
}

/** The user's response, as `ResponseStore` finds it. */
export async function findResponse(
  log: Pick<EventLog, 'read'>,
  seed: string,
  userId: number,
): Promise<StoredResponse | undefined> {
  for await (const { data } of log.read(responseStream(seed))) {
    // The cast is safe: only `save` writes to these streams.
    const stored = data as unknown as StoredResponse
    return stored.userId === userId ? stored : undefined
  }
  return undefined
}
