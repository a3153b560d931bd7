import type { MaybePromise } from '../../core/soon.ts'

/**
 * Counts the requests of each user in windows; a window begins with a user's first request after the last one ended. What is counted,
 * and under which ids, is up to whoever asks.
 */
export interface RequestCounter<Id extends number | string = number> {
  /** Counts one request. Rejects when the store is away: nobody knows then whether it was counted. */
  count(id: Id): MaybePromise<RequestCount>
  close(): Promise<void>
}

export interface RequestCount {
  /** Requests in this window, this one and refused ones included. */
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly resetMs: number
}
