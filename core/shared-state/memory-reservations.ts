import {
  type CounterUse,
  isRefused,
  type OpenReservation,
  type ReservationEntry,
  type ReservationOutcome,
  type SharedReservations,
  unusedCounter,
} from './reservations.ts'

interface Counter {
  used: number
  reserved: number
  /** A `performance.now()` timestamp; Infinity without a window. */
  readonly endsAt: number
  readonly open: Map<string, { readonly amount: number; expiresAt: number }>
  /** No open reservation ends before this time. */
  nextExpiry: number
}

interface MemoryReservations extends SharedReservations {
  reserve(id: string, entries: readonly ReservationEntry[], holdMs: number): ReservationOutcome
  settle(reservation: OpenReservation, used: readonly number[]): void
  renew(reservations: readonly OpenReservation[], holdMs: number): void
  read(keys: readonly string[]): readonly (CounterUse | null)[]
}

/** Keeps counters in this process, synchronously. `now` is a monotonic clock in milliseconds. */
export function createMemoryReservations(now: () => number = () => performance.now()): MemoryReservations {
  const counters = new Map<string, Counter>()
  let nextSweepSize = 1000

  /** Returns the counter if its window is running, without reservations that have ended. */
  function find(key: string, at: number): Counter | undefined {
    const counter = counters.get(key)
    if (counter === undefined) return undefined
    if (at < counter.endsAt) endReservations(counter, at)
    if (at < counter.endsAt && !isUnused(counter)) return counter
    counters.delete(key)
    return undefined
  }

  function create({ key, windowMs, initial }: ReservationEntry, at: number): Counter {
    const endsAt = windowMs === null ? Number.POSITIVE_INFINITY : at + windowMs
    const counter: Counter = {
      used: initial ?? 0,
      reserved: 0,
      endsAt,
      open: new Map(),
      nextExpiry: Number.POSITIVE_INFINITY,
    }
    if (counters.size >= nextSweepSize) sweep(at)
    counters.set(key, counter)
    return counter
  }

  /** Drops counters that are no longer in use. Amortized, so cheap. */
  function sweep(at: number): void {
    for (const key of counters.keys()) find(key, at)
    nextSweepSize = Math.max(counters.size * 2, 1000)
  }

  return {
    reserve(id, entries, holdMs) {
      const at = Math.floor(now())
      const found = entries.map(({ key }) => find(key, at))
      const describeAll = () => entries.map((entry, index) => describe(found[index], entry, at))
      const missing = entries.findIndex(({ initial }, index) => initial === null && !found[index])
      if (missing !== -1) return { result: 'missing', index: missing, counters: describeAll() }
      const full = entries.findIndex((entry, index) =>
        isRefused(entry, found[index] ?? unusedCounter(entry.initial)),
      )
      if (full !== -1) {
        const counters = describeAll()
        // A known sum is kept, so that it is not computed again for the next request.
        entries.forEach((entry, index) => {
          if (!found[index] && entry.initial) create(entry, at)
        })
        return { result: 'refused', index: full, counters }
      }
      const after = entries.map((entry, index) => {
        const counter = found[index] ?? create(entry, at)
        const expiresAt = at + holdMs
        counter.open.set(id, { amount: entry.amount, expiresAt })
        counter.reserved += entry.amount
        counter.nextExpiry = Math.min(counter.nextExpiry, expiresAt)
        return describe(counter, entry, at)
      })
      return { result: 'granted', index: -1, counters: after }
    },
    settle({ id, entries }, used) {
      const at = Math.floor(now())
      entries.forEach(({ key, window }, index) => {
        const counter = counters.get(key)
        if (counter === undefined || at >= counter.endsAt || windowOf(counter) !== window) return
        closeReservation(counter, id)
        counter.used += used[index] ?? 0
        if (isUnused(counter)) counters.delete(key)
      })
    },
    renew(reservations, holdMs) {
      const expiresAt = Math.floor(now()) + holdMs
      for (const { id, entries } of reservations) {
        for (const { key } of entries) {
          const reservation = counters.get(key)?.open.get(id)
          if (reservation !== undefined) reservation.expiresAt = expiresAt
        }
      }
    },
    read(keys) {
      const at = Math.floor(now())
      return keys.map((key) => {
        const counter = find(key, at)
        return counter ? describeCounter(counter, at) : null
      })
    },
  }
}

function endReservations(counter: Counter, at: number): void {
  if (at < counter.nextExpiry) return
  counter.nextExpiry = Number.POSITIVE_INFINITY
  for (const [id, { expiresAt }] of counter.open) {
    if (at >= expiresAt) closeReservation(counter, id)
    else counter.nextExpiry = Math.min(counter.nextExpiry, expiresAt)
  }
}

function closeReservation(counter: Counter, id: string): void {
  counter.reserved -= counter.open.get(id)?.amount ?? 0
  counter.open.delete(id)
}

/** A counter without a window and without content is as if it did not exist. */
function isUnused({ used, open, endsAt }: Counter): boolean {
  return endsAt === Number.POSITIVE_INFINITY && used === 0 && open.size === 0
}

function describe(counter: Counter | undefined, { initial }: ReservationEntry, at: number): CounterUse {
  return counter ? describeCounter(counter, at) : unusedCounter(initial)
}

function describeCounter(counter: Counter, at: number): CounterUse {
  const { used, reserved, endsAt } = counter
  const window = windowOf(counter)
  return { used, reserved, resetMs: window === 0 ? 0 : endsAt - at, window }
}

/** Infinity does not travel as JSON. */
function windowOf({ endsAt }: Counter): number {
  return endsAt === Number.POSITIVE_INFINITY ? 0 : endsAt
}
