import type { CounterValue, MaybePromise } from '../contract/index.ts'
import type { SharedReservations } from './reservations.ts'

/**
 * Counters, reservations and expiring records that all processes of an installation share. A namespace
 * separates those of one owner. Methods reject with a `SharedStateUnavailableError`; the implementation in
 * memory is synchronous and never fails.
 */
export interface SharedState {
  counters(namespace: string): SharedCounters
  reservations(namespace: string): SharedReservations
  store(namespace: string): SharedStore
  close(): Promise<void>
}

/** See `Counters` of the plugin API. */
export interface SharedCounters {
  add(key: string, amount: number, windowSeconds: number): MaybePromise<CounterValue>
  read(key: string): MaybePromise<CounterValue>
}

/** Records as JSON text. See `RecordStore` of the plugin API. */
export interface SharedStore {
  get(key: string): MaybePromise<string | undefined>
  set(key: string, json: string, ttlSeconds: number): MaybePromise<void>
  delete(key: string): MaybePromise<void>
}
