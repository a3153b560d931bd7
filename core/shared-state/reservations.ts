import { type MaybePromise, SharedStateUnavailableError } from '../contract/index.ts'

/**
 * Counters with limits that cannot be exceeded: amounts are reserved before they are used, and settled
 * afterwards. All amounts are integers below 2^53, so sums are exact everywhere. Methods reject like those of
 * `SharedState`; whether the command is executed nevertheless, or later, is unknown then, except after a
 * `NotSentError`. See docs/decisions/limits.md, "Every command is executed at most once".
 */
export interface SharedReservations {
  /**
   * Registers what a member knows, and lets its commands be executed from then on. Returns undefined if a
   * later command of the member was executed before.
   */
  join(call: ReservationCall, registration: Registration, lease: Lease): MaybePromise<Membership | undefined>
  /**
   * Lets the reservations end `holdMs` from now, and the membership `leaseMs` from now. Undefined if the
   * member has to join first.
   */
  renew(
    call: ReservationCall,
    reservations: readonly OpenReservation[],
    lease: Lease,
  ): MaybePromise<Membership | undefined>
  /**
   * Reserves all amounts or none, in one step. An open reservation that was not renewed for `holdMs` ends by
   * itself, with the generation, so that those of crashed processes do not count forever. `id` must be
   * unique.
   */
  reserve(
    call: ReservationCall,
    id: string,
    entries: readonly ReservationEntry[],
    holdMs: number,
  ): MaybePromise<ReservationOutcome>
  /**
   * Replaces the reserved amounts by what was used, in the order of the entries. Does nothing if the
   * reservation is settled already or was never made. A counter whose window has ended stays as it is. See
   * docs/decisions/limits.md, "A reservation belongs to the minute in which it was made". Returns false if
   * the member has to join first.
   */
  settle(call: ReservationCall, reservation: OpenReservation, used: readonly number[]): MaybePromise<boolean>
  /** Returns the counters; null for those that do not exist, or whose sum is not known. */
  read(keys: readonly string[]): MaybePromise<readonly (CounterUse | null)[]>
}

/** How long members and their reservations are kept without a renewal. */
export interface Lease {
  readonly leaseMs: number
  readonly holdMs: number
}

/** The command was not sent, so it will not be executed. */
export class NotSentError extends SharedStateUnavailableError {}

/** Who sends a command. */
export interface ReservationCall {
  /** Identifies a process. */
  readonly member: string
  /** The generation of the counters that the member has joined last; empty before. */
  readonly generation: string
  /** Increases with each command. A command is ignored after a later one of the same member. */
  readonly order: number
}

/**
 * A member of the current generation of the counters. A new generation begins when counters may have been
 * lost: every member that is alive registers what it knows before anything is reserved. See
 * docs/decisions/limits.md, "A loss begins a new generation".
 */
export interface Membership {
  readonly generation: string
  /** Whether all members have registered, so that reservations can be made. */
  readonly isReady: boolean
  /** The other members that are alive. */
  readonly peers: readonly Peer[]
}

export interface Peer {
  readonly member: string
  /** How long it counts as alive without a renewal. */
  readonly leaseMs: number
}

/** What a member knows of the counters. A large registration has several parts. */
export interface Registration {
  /** The id of the next generation, if this registration begins one. */
  readonly nextGeneration: string
  readonly open: readonly OpenReservation[]
  /** What was used, but may not be part of `initial`. */
  readonly settled: readonly OpenReservation[]
  readonly peers: readonly Peer[]
  readonly isLast: boolean
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
   * reserved if the sum of the counter is not known.
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
  /** `recovering`: other members have to register first. `unknown`: this member has to join first. */
  readonly result: 'granted' | 'refused' | 'missing' | 'recovering' | 'unknown'
  /** Index of the first entry whose limit refused the reservation, or whose sum is not known. */
  readonly index: number
  /** The counters afterwards, in the order of the entries. */
  readonly counters: readonly CounterUse[]
  /** If the sum is missing: the ids of what was registered, which must not be part of it. */
  readonly registered: readonly string[]
}

/** A granted reservation, or what was used of it. */
export interface OpenReservation {
  readonly id: string
  readonly entries: readonly AmountInWindow[]
}

export interface AmountInWindow {
  readonly key: string
  readonly amount: number
  /** That of the counter; -1 for any. */
  readonly window: number
}

/**
 * Ends of one window that were computed at different times, as after a loss of the counters, differ by less
 * than this, in milliseconds; ends of consecutive windows by more.
 */
export const SAME_WINDOW_MS = 10_000

/** How counters that may be lost are recovered. */
export const RECOVERY_MS = {
  /** Members without any that knows the others wait this long for others to join. */
  grace: 3000,
  /** Without any renewal for this long, the counters were out of reach for all members. */
  silence: 30_000,
}

/** When members that are gone, and counters without a window, are forgotten. */
export const FORGOTTEN_MS = 24 * 60 * 60 * 1000

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
