import type { CounterValue, MaybePromise } from '../contract/index.ts'
import { isSameWindow, type SharedCounters, type WindowCount } from './shared-state.ts'

/** Most permits of a lease. */
const MAX_LEASE = 64

/** Permits are taken one by one when fewer than this are left. */
const MIN_REMAINING = 256

/** A lease is at most this share of what is left: many processes may hold one. */
const LEASE_SHARE = 1 / 32

/** A lease that was not used for this long is given back, and the next one begins with a single permit. */
const IDLE_MS = 100

/** What this process knows about one counter, and its permits for it. */
interface Lease {
  /** Permits that nobody has taken yet. */
  left: number
  /** The value of the counter, without the permits of this process that are left. */
  total: number
  limit: number
  /** A `performance.now()` timestamp. */
  endsAt: number
  window: number
  /** How many permits were asked for last. */
  size: number
  usedAt: number
  /** More permits are being asked for. */
  pending: Promise<unknown> | undefined
}

/**
 * Counts requests against a limit, with few calls to the process or server that keeps the counters: while a
 * counter is far from its limit and busy, this process takes several permits at once. Never admits more than
 * the limit in a window. See docs/decisions/limits.md, "Busy processes lease permits".
 */
export class LeasedCounters {
  readonly #counters: SharedCounters
  readonly #windowSeconds: number
  readonly #now: () => number
  readonly #leases = new Map<string, Lease>()
  readonly #held = new Map<string, Lease>()
  #nextSweepSize = 1000
  #timer: NodeJS.Timeout | undefined

  constructor(counters: SharedCounters, windowSeconds: number, now: () => number = () => performance.now()) {
    this.#counters = counters
    this.#windowSeconds = windowSeconds
    this.#now = now
  }

  /** Takes one permit. There was none if the returned total exceeds the limit. Rejects like the counters. */
  take(key: string, limit: number): MaybePromise<CounterValue> {
    const now = this.#now()
    const lease = this.#leases.get(key)
    if (lease === undefined || now >= lease.endsAt || lease.limit !== limit)
      return this.#takeFirst(key, limit, now)
    if (lease.left > 0) {
      lease.left -= 1
      lease.total += 1
      lease.usedAt = now
      if (lease.left === 0) this.#held.delete(key)
      return { total: Math.min(lease.total, limit), resetMs: lease.endsAt - now }
    }
    if (lease.pending !== undefined) {
      const retry = () => this.take(key, limit)
      return lease.pending.then(retry, retry)
    }
    return this.#takeMore(key, lease, now)
  }

  /** Gives back what this process has leased and does not use. Called regularly. */
  giveBackIdle(idleMs = IDLE_MS): void {
    const now = this.#now()
    for (const [key, lease] of this.#held)
      if (now - lease.usedAt >= idleMs || now >= lease.endsAt) this.#giveBack(key, lease)
    if (this.#held.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  close(): void {
    this.giveBackIdle(0)
    clearInterval(this.#timer)
  }

  /** The first permit of a window, or of a limit, tells how far the counter is from it. */
  #takeFirst(key: string, limit: number, now: number): MaybePromise<CounterValue> {
    const value = this.#counters.add(key, 1, this.#windowSeconds)
    // Counters of this process need no leases.
    if (!(value instanceof Promise)) return value
    return value.then(({ total, resetMs, window }) => {
      this.#begin(key, limit, { total, resetMs, window }, now)
      return { total, resetMs }
    })
  }

  #takeMore(key: string, lease: Lease, now: number): MaybePromise<CounterValue> {
    const remaining = lease.limit - lease.total
    const isBusy = now - lease.usedAt < IDLE_MS
    const most = remaining < MIN_REMAINING ? 1 : Math.min(MAX_LEASE, Math.floor(remaining * LEASE_SHARE))
    const size = isBusy ? Math.min(lease.size * 2, most) : 1
    lease.size = size
    lease.usedAt = now
    const added = Promise.resolve(this.#counters.add(key, size, this.#windowSeconds))
    const taken = added.then(({ total, resetMs, window }) => {
      const { limit } = lease
      if (!isSameWindow(window, lease.window)) {
        // The window has ended meanwhile: one permit of the next one is kept.
        if (size > 1) this.#return(key, size - 1, window)
        const first = { total: total - size + 1, resetMs, window }
        this.#begin(key, limit, first, now)
        return first
      }
      const granted = size - Math.max(0, total - limit)
      if (granted > 1) this.#hold(key, lease, granted - 1)
      lease.total = total - lease.left
      const position = granted > 0 ? Math.min(total, limit) - granted + 1 : total
      return { total: position, resetMs }
    })
    if (size === 1) return taken
    const done = () => {
      lease.pending = undefined
    }
    lease.pending = taken.then(done, done)
    return taken
  }

  /**
   * Remembers a window. `sentAt` is when the counters were asked: counted from then, the window ends here no
   * later than there.
   */
  #begin(key: string, limit: number, { total, resetMs, window }: WindowCount, sentAt: number): void {
    const known = this.#leases.get(key)
    if (known !== undefined && known.limit === limit && isSameWindow(known.window, window)) return
    if (known !== undefined) this.#giveBack(key, known)
    const endsAt = sentAt + resetMs
    const rest = { left: 0, size: 1, usedAt: sentAt, pending: undefined }
    this.#leases.set(key, { total, limit, endsAt, window, ...rest })
    if (this.#leases.size > this.#nextSweepSize) this.#sweep()
  }

  #hold(key: string, lease: Lease, permits: number): void {
    lease.left += permits
    this.#held.set(key, lease)
    this.#timer ??= setInterval(() => this.giveBackIdle(), IDLE_MS).unref()
  }

  #giveBack(key: string, lease: Lease): void {
    const { left, window } = lease
    this.#held.delete(key)
    lease.left = 0
    lease.size = 1
    if (left > 0 && this.#now() < lease.endsAt) this.#return(key, left, window)
  }

  /** A permit that cannot be given back is lost until the window ends. */
  #return(key: string, permits: number, window: number): void {
    void Promise.resolve(this.#counters.giveBack(key, permits, window)).catch(() => undefined)
  }

  #sweep(): void {
    const now = this.#now()
    for (const [key, { endsAt, pending }] of this.#leases)
      if (now >= endsAt && pending === undefined) this.#leases.delete(key)
    this.#nextSweepSize = Math.max(1000, this.#leases.size * 2)
  }
}
