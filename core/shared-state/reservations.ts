import type { MaybePromise } from '../contract/index.ts'

/**
 * Counters with limits that cannot be exceeded: amounts are reserved before they are used, and settled
 * afterwards. All amounts are integers below 2^53, so sums are exact everywhere. Methods reject like those of
 * `SharedState`.
 */
export interface SharedReservations {
  /**
   * Reserves all amounts or none, in one step. An open reservation ends by itself after `holdMs` unless it is
   * renewed, so that those of crashed processes do not count forever. `id` must be unique.
   */
  reserve(id: string, entries: readonly ReservationEntry[], holdMs: number): MaybePromise<ReservationOutcome>
  /**
   * Replaces the reserved amounts by what was used, in the order of the entries. What was used also counts if
   * the reservation has ended; a counter whose window has ended stays as it is. See docs/decisions/limits.md,
   * "A reservation belongs to the minute in which it was made".
   */
  settle(reservation: OpenReservation, used: readonly number[]): MaybePromise<void>
  /** Lets the reservations end `holdMs` from now. Those that have ended stay so. */
  renew(reservations: readonly OpenReservation[], holdMs: number): MaybePromise<void>
  /** Returns the counters; null for those that do not exist. */
  read(keys: readonly string[]): MaybePromise<readonly (CounterUse | null)[]>
}

export interface ReservationEntry {
  readonly key: string
  readonly amount: number
  /** What may be used and reserved together; null: counted, and never refused. */
  readonly limit: number | null
  /** The counter is 0 again this long after its first reservation; null: never. */
  readonly windowMs: number | null
  /**
   * What was used before the counter was created; null if the caller does not know, so that nothing is
   * reserved if the counter does not exist.
   */
  readonly initial: number | null
}

export interface CounterUse {
  readonly used: number
  /** The sum of all open reservations. */
  readonly reserved: number
  /** Milliseconds until the window ends; 0 if the counter has none, or is not in use. */
  readonly resetMs: number
  /** Identifies the window of the counter. */
  readonly window: number
}

export interface ReservationOutcome {
  readonly result: 'granted' | 'refused' | 'missing'
  /** Index of the first entry whose limit refused the reservation, or whose counter does not exist. */
  readonly index: number
  /** The counters afterwards, in the order of the entries. */
  readonly counters: readonly CounterUse[]
}

/** A granted reservation. */
export interface OpenReservation {
  readonly id: string
  readonly entries: readonly { readonly key: string; readonly amount: number; readonly window: number }[]
}

/** The state of a counter that does not exist. */
export function unusedCounter(initial: number | null): CounterUse {
  return { used: initial ?? 0, reserved: 0, resetMs: 0, window: 0 }
}

/** Whether the limit refuses the amount beside what was used and reserved. */
export function isRefused(
  entry: ReservationEntry,
  { used, reserved }: Pick<CounterUse, 'used' | 'reserved'>,
): boolean {
  return entry.limit !== null && used + reserved + entry.amount > entry.limit
}
