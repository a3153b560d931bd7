import { randomBytes } from 'node:crypto'
import type { ClientConnection, MaybePromise } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import type {
  CounterUse,
  OpenReservation,
  ReservationEntry,
  ReservationOutcome,
  SharedReservations,
} from './reservations.ts'
import { WaitingLines } from './waiting-lines.ts'

/** See docs/decisions/limits.md, "Reservations end by themselves". */
const HOLD_MS = 60_000

const RENEWAL_MS = 20_000

/** How long the first of a line waits for reservations of other processes before it tries again. */
const POLL_MS = { first: 20, max: 100 }

/** Settlements that are repeated while the shared state is unavailable. */
const MAX_UNSETTLED = 10_000

export interface ReserveOptions {
  /** How long to wait for a reservation that only other open reservations prevent. */
  readonly waitMs: number
  readonly client: Pick<ClientConnection, 'isAborted' | 'onAbort'>
  /** Returns what was used before the counter of an entry was created, if its `initial` is null. */
  readonly loadInitial?: (entry: ReservationEntry) => Promise<number>
}

/** The answer to a reservation. */
export interface HeldResult {
  /** Undefined if the reservation was refused. */
  readonly hold?: Hold
  /** Index of the entry whose limit refused the reservation; -1 if none did. */
  readonly refusedBy: number
  /** Only other open reservations prevent this one. */
  readonly isTemporary: boolean
  readonly counters: readonly CounterUse[]
}

/** A granted reservation, which is kept until it is settled. */
export interface Hold {
  /** Ends the reservation with what was used, in the order of the entries. */
  settle(used: readonly number[]): void
}

interface Settlement {
  readonly reservation: OpenReservation
  readonly used: readonly number[]
}

/**
 * The reservations of this process: they wait for each other, and are renewed until they are settled. See
 * docs/decisions/limits.md, "A request waits briefly for others to end".
 */
export class HeldReservations {
  readonly #shared: SharedReservations
  readonly #lines = new WaitingLines()
  readonly #open = new Map<string, OpenReservation>()
  readonly #processId = randomBytes(9).toString('base64url')
  #unsettled: Settlement[] = []
  #timer: NodeJS.Timeout | undefined
  #count = 0

  constructor(shared: SharedReservations) {
    this.#shared = shared
  }

  /** Reserves all amounts or none. Rejects like the shared state. */
  reserve(entries: readonly ReservationEntry[], options: ReserveOptions): MaybePromise<HeldResult> {
    const mayWait = options.waitMs > 0 && this.#lines.areInUse
    const busy = mayWait ? entries.find(({ key }) => !this.#lines.isEmpty(key)) : undefined
    if (busy !== undefined) return this.#waitInLine(busy.key, entries, options)
    return chain(this.#attempt(entries, options), (result): MaybePromise<HeldResult> => {
      const full = entries[result.refusedBy]
      const mustWait = full !== undefined && result.isTemporary && options.waitMs > 0
      return mustWait ? this.#waitInLine(full.key, entries, options) : result
    })
  }

  read(keys: readonly string[]): MaybePromise<readonly (CounterUse | null)[]> {
    return this.#shared.read(keys)
  }

  /** Counts an amount that was used without a reservation, if the window of the counter is still running. */
  add(key: string, amount: number, window: number): MaybePromise<void> {
    const id = `${this.#processId}-${++this.#count}`
    return this.#shared.settle({ id, entries: [{ key, amount: 0, window }] }, [amount])
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #waitInLine(
    key: string,
    entries: readonly ReservationEntry[],
    options: ReserveOptions,
  ): Promise<HeldResult> {
    const { client, waitMs } = options
    const deadline = performance.now() + waitMs
    const place = this.#lines.join(key)
    const unsubscribe = client.onAbort(() => place.wake())
    let pollMs = POLL_MS.first
    try {
      for (;;) {
        const leftMs = deadline - performance.now()
        if (place.isFirst() || leftMs <= 0 || client.isAborted) {
          const result = await this.#attempt(entries, options)
          if (result.hold !== undefined || !result.isTemporary || leftMs <= 0 || client.isAborted)
            return result
          await place.sleep(Math.min(pollMs, leftMs))
          pollMs = Math.min(pollMs * 2, POLL_MS.max)
        } else {
          await place.sleep(leftMs)
        }
      }
    } finally {
      unsubscribe()
      place.leave()
    }
  }

  #attempt(entries: readonly ReservationEntry[], options: ReserveOptions): MaybePromise<HeldResult> {
    const id = `${this.#processId}-${++this.#count}`
    return chain(this.#shared.reserve(id, entries, HOLD_MS), (outcome): MaybePromise<HeldResult> => {
      const entry = entries[outcome.index]
      if (outcome.result !== 'missing' || entry === undefined) return this.#toResult(id, entries, outcome)
      if (options.loadInitial === undefined)
        throw new TypeError(`the counter ${entry.key} has no initial value`)
      return options.loadInitial(entry).then((initial) => {
        const known = entries.map((other) => (other === entry ? { ...other, initial } : other))
        return this.#attempt(known, options)
      })
    })
  }

  #toResult(
    id: string,
    entries: readonly ReservationEntry[],
    { result, index, counters }: ReservationOutcome,
  ): HeldResult {
    if (result === 'granted') {
      const hold = this.#hold({
        id,
        entries: entries.map(({ key, amount }, at) => ({ key, amount, window: counters[at]?.window ?? 0 })),
      })
      return { hold, refusedBy: -1, isTemporary: false, counters }
    }
    const { amount, limit } = entries[index] ?? { amount: 0, limit: null }
    const isTemporary = limit !== null && (counters[index]?.used ?? 0) + amount <= limit
    return { refusedBy: index, isTemporary, counters }
  }

  #hold(reservation: OpenReservation): Hold {
    this.#open.set(reservation.id, reservation)
    this.#timer ??= setInterval(() => this.#renew(), RENEWAL_MS).unref()
    return {
      settle: (used) => {
        if (this.#open.delete(reservation.id)) this.#settle({ reservation, used })
      },
    }
  }

  #settle(settlement: Settlement): void {
    const { reservation, used } = settlement
    const wake = () => {
      if (!this.#lines.areInUse) return
      for (const { key } of reservation.entries) this.#lines.wakeFirst(key)
    }
    const repeatLater = () => {
      // The shared state logs when it becomes unavailable.
      if (this.#unsettled.length < MAX_UNSETTLED) this.#unsettled.push(settlement)
    }
    try {
      const settled = this.#shared.settle(reservation, used)
      if (settled instanceof Promise) void settled.then(wake, repeatLater)
      else wake()
    } catch {
      repeatLater()
    }
  }

  /** Settles again what could not be settled. Called regularly. */
  repeatFailed(): void {
    const unsettled = this.#unsettled
    this.#unsettled = []
    for (const settlement of unsettled) this.#settle(settlement)
  }

  #renew(): void {
    this.repeatFailed()
    if (this.#open.size === 0) return
    // A failed renewal is repeated before the reservations end.
    void Promise.resolve(this.#shared.renew([...this.#open.values()], HOLD_MS)).catch(() => undefined)
  }
}
