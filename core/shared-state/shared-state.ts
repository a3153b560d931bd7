import { type CounterValue, type MaybePromise, service } from '../contract/index.ts'
import type { SharedReservations } from './reservations.ts'

/**
 * Counters, reservations and expiring records that all processes of an installation share. A namespace
 * separates those of one owner. Methods reject with a `SharedStateUnavailableError`; the implementation in
 * memory is synchronous, and throws only if there is no memory for a set.
 */
export interface SharedState {
  counters(namespace: string): SharedCounters
  reservations(namespace: string): SharedReservations
  store(namespace: string): SharedStore
  sets(namespace: string): SharedSets
  close(): Promise<void>
}

export const SharedState = service<SharedState>('shared-state')

/** See `Counters` of the plugin API. */
export interface SharedCounters {
  add(key: string, amount: number, windowSeconds: number): MaybePromise<WindowCount>
  /** Subtracts from a counter if its window is still the same. For windows of at least a few seconds. */
  giveBack(key: string, amount: number, window: number): MaybePromise<void>
  read(key: string): MaybePromise<CounterValue>
}

/** The state of a counter whose window is running. */
export interface WindowCount extends CounterValue {
  /** Identifies the window: when it ends, in milliseconds, up to a deviation of a few. */
  readonly window: number
}

export const WINDOW_TOLERANCE_MS = 1000

export function isSameWindow(one: number, other: number): boolean {
  return Math.abs(one - other) < WINDOW_TOLERANCE_MS
}

/** Records as JSON text. See `RecordStore` of the plugin API. */
export interface SharedStore {
  get(key: string): MaybePromise<string | undefined>
  set(key: string, json: string, ttlSeconds: number): MaybePromise<void>
  delete(key: string): MaybePromise<void>
}

/** Sets of texts that are not dropped before they expire. See `RecordStore` of the plugin API. */
export interface SharedSets {
  /** At least one text. Returns all. */
  add(key: string, texts: readonly string[], ttlSeconds: number): MaybePromise<readonly string[]>
  read(key: string): MaybePromise<readonly string[]>
}
