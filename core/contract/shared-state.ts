import type { JsonObject } from './json.ts'
import { SignalboxError } from './signalbox-error.ts'

/** The state of a counter. */
export interface CounterValue {
  /** Sum of the amounts added in the current window; 0 if no window is running. */
  readonly total: number
  /** Milliseconds until the window ends; 0 if no window is running. */
  readonly resetMs: number
}

/**
 * A plugin's own counters. All processes share them: in a cluster through its primary process, and on
 * several machines through Redis. Methods reject with a `SharedStateUnavailableError` if Redis or the primary
 * does not respond; an addition may or may not have been made then.
 */
export interface Counters {
  /**
   * Adds to a counter and returns its new value. A window begins with the first addition and ends after
   * `windowSeconds`, whatever later additions pass; then the counter is 0 again. `amount` may be a fraction,
   * or negative.
   */
  add(key: string, amount: number, windowSeconds: number): Promise<CounterValue>
  read(key: string): Promise<CounterValue>
}

/** A value that can be stored as JSON. */
export type JsonValue = string | number | boolean | null | readonly unknown[] | JsonObject

/**
 * A plugin's own records and sets, which expire. Shared and unavailable like `Counters`. Without Redis,
 * records are in memory: when it is full, those that were not used for longest are dropped before they
 * expire.
 */
export interface RecordStore {
  /** Returns a copy of the value; undefined if there is none or it has expired. */
  get(key: string): Promise<unknown>
  /** Replaces the record of the key. Rejects with a `RangeError` if the value has more than 1 MiB of JSON. */
  set(key: string, value: JsonValue, ttlSeconds: number): Promise<void>
  delete(key: string): Promise<void>
  /**
   * Adds texts to the set of the key, which then expires after `ttlSeconds`, and returns all of its texts.
   * Additions of several processes at a time add up. Sets are apart from the records, and are not dropped
   * before they expire: without Redis, this rejects with a `SharedStateUnavailableError` when memory is full.
   */
  addToSet(key: string, texts: readonly string[], ttlSeconds: number): Promise<readonly string[]>
  /** Returns the texts of the set; none if there is no set or it has expired. */
  readSet(key: string): Promise<readonly string[]>
}

/** Redis, or the primary process of a cluster, did not carry out a call. */
export class SharedStateUnavailableError extends SignalboxError {
  static override readonly brand = 'signalbox.SharedStateUnavailableError'

  /** The reason must not contain keys or values: they may hold texts of requests. */
  constructor(reason: string) {
    super(`The shared state is unavailable: ${reason}`)
  }
}
