import { randomBytes } from 'node:crypto'
import { setTimeout as setTimeoutPromise } from 'node:timers/promises'
import { type ClientConnection, type MaybePromise, SharedStateUnavailableError } from '../contract/index.ts'
import { withTimeout } from '../threads/timeout.ts'
import { chain } from '../util/maybe-promise.ts'
import { whileWaiting } from '../util/while-waiting.ts'
import { type Remembered, ReservationMember, requestOf } from './reservation-member.ts'
import {
  type CounterUse,
  NotSentError,
  type OpenReservation,
  RECOVERY_MS,
  type Registration,
  type ReservationCall,
  type ReservationEntry,
  type ReservationOutcome,
  type SharedReservations,
} from './reservations.ts'

/** Lines of callers that wait for counters. The first of each line tries again and again, the others wait. */
class WaitingLines {
  readonly #lines = new Map<string, Waiter[]>()

  /** Whether anybody waits. */
  get areInUse(): boolean {
    return this.#lines.size > 0
  }

  isEmpty(key: string): boolean {
    return !this.#lines.has(key)
  }

  /** Joins the line of a counter. */
  join(key: string): Waiter {
    const waiter: Waiter = new Waiter(
      () => this.#lines.get(key)?.[0] === waiter,
      () => this.#leave(key, waiter),
    )
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, [waiter])
    else line.push(waiter)
    return waiter
  }

  /** Lets the first of the line try again: the counter has changed. */
  wakeFirst(key: string): void {
    this.#lines.get(key)?.[0]?.wake()
  }

  #leave(key: string, waiter: Waiter): void {
    const line = this.#lines.get(key)?.filter((other) => other !== waiter) ?? []
    if (line.length === 0) this.#lines.delete(key)
    else this.#lines.set(key, line)
    line[0]?.wake()
  }
}

/** A place in a line. */
class Waiter {
  readonly isFirst: () => boolean
  /** Must be called at last. */
  readonly leave: () => void
  #endSleep: (() => void) | undefined
  #isWoken = false

  constructor(isFirst: () => boolean, leave: () => void) {
    this.isFirst = isFirst
    this.leave = leave
  }

  /** Ends `sleep`, or the next one if there is none. */
  wake(): void {
    if (this.#endSleep === undefined) this.#isWoken = true
    else this.#endSleep()
  }

  /** Resolves after `ms` milliseconds, or earlier when woken. */
  async sleep(ms: number): Promise<void> {
    if (!this.#isWoken) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#endSleep = resolve
        timer = setTimeout(resolve, ms)
      })
      clearTimeout(timer)
      this.#endSleep = undefined
    }
    this.#isWoken = false
  }
}

/** See docs/decisions/limits.md, "Reservations end by themselves". */
const HOLD_MS = 60_000

/** How often reservations are renewed. */
const RENEWAL_MS = 20_000

/** A process that does not say for this long that it is alive is not waited for after a loss. */
const LEASE_MS = 30_000

/** How often a process says so, and learns that counters may have been lost. */
const HEARTBEAT_MS = 1000

const LEASE = { leaseMs: LEASE_MS, holdMs: HOLD_MS }

/** How soon failed commands are repeated. */
const RETRY_MS = 500

/** How long the first of a line waits for reservations of other processes before it tries again. */
const POLL_MS = { first: 20, max: 100 }

/** How long a shutdown waits for the last settlements. */
const CLOSE_WAIT_MS = 2000

const LEFT = { leaseMs: 0, holdMs: 0 }

export interface ReserveOptions {
  /** How long to wait for a reservation that only other open reservations, or a recovery, prevent. */
  readonly waitMs: number
  readonly client: Pick<ClientConnection, 'isAborted' | 'onAbort' | 'waiting'>
  readonly remembered?: Remembered
  /** Returns what was used before the counter of an entry was created, if its `initial` is null. */
  readonly loadInitial?: (entry: ReservationEntry, rebuild: Rebuild) => Promise<number>
}

/** A sum that is computed again. */
export interface Rebuild {
  readonly generation: string
  /** Requests that must not be part of the sum. */
  readonly except: readonly string[]
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

/**
 * The reservations of this process: they wait for each other, and are renewed until they are settled. See
 * docs/decisions/limits.md, "A request waits briefly for others to end".
 */
export class HeldReservations {
  readonly #shared: SharedReservations
  readonly #lines = new WaitingLines()
  readonly #member = new ReservationMember(randomBytes(9).toString('base64url'))
  /** Keys of settlements that were sent and not answered. */
  readonly #settling = new Set<string>()
  #joining: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #renewedAt = 0
  #heardAt = 0

  constructor(shared: SharedReservations) {
    this.#shared = shared
  }

  /** Reserves all amounts or none. Rejects like the shared state. */
  reserve(entries: readonly ReservationEntry[], options: ReserveOptions): MaybePromise<HeldResult> {
    const mayWait = options.waitMs > 0 && this.#lines.areInUse
    const busy = mayWait ? entries.find(({ key }) => !this.#lines.isEmpty(key)) : undefined
    if (busy !== undefined) return this.#waitInLine(busy.key, entries, options)
    const result = this.#attempt(entries, options)
    if (!(result instanceof Promise) && !result.isTemporary) return result
    return chain(result, (attempted): MaybePromise<HeldResult> => {
      const full = entries[attempted.refusedBy]
      const mustWait = full !== undefined && attempted.isTemporary && options.waitMs > 0
      return mustWait ? this.#waitInLine(full.key, entries, options) : attempted
    })
  }

  read(keys: readonly string[]): MaybePromise<readonly (CounterUse | null)[]> {
    return this.#shared.read(keys)
  }

  /** The ledger has this request. */
  recorded(requestId: string): void {
    this.#member.recorded(requestId)
  }

  /** Joins the other processes, and waits for those that have to register. Resolves even if that fails. */
  async start(): Promise<void> {
    const deadline = performance.now() + RECOVERY_MS.grace
    try {
      await this.#join()
      while (!this.#member.isReady && performance.now() < deadline) {
        await setTimeoutPromise(POLL_MS.max, undefined, { ref: false })
        await this.#renew([])
      }
    } catch {
      // It joins when the shared state is available.
    }
  }

  /** Sends the last settlements. Nothing may be reserved afterwards. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    if (!this.#member.isJoined) return
    const sent = Promise.all(this.#member.unsettled().map((key) => this.#settle(key)))
    await withTimeout(sent, CLOSE_WAIT_MS, () => new Error('timeout')).catch(() => undefined)
    // Others need not wait for this process, unless it leaves something behind.
    const open = this.#member.toRenew(performance.now())
    if (open.length === 0)
      await Promise.resolve(this.#shared.renew(this.#member.call(), [], LEFT)).catch(() => 0)
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
    client.waiting?.begin()
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
      client.waiting?.end()
      unsubscribe()
      place.leave()
    }
  }

  /** Reserves once; again while the counters are being recovered. */
  #attempt(
    entries: readonly ReservationEntry[],
    options: ReserveOptions,
    sums: KnownSums = NO_SUMS,
  ): MaybePromise<HeldResult> {
    if (!this.#member.isJoined) return this.#joinAndReserve(entries, options, sums)
    const sent = this.#send(entries, options, sums)
    if (!(sent instanceof Promise)) return sent ?? this.#joinAndReserve(entries, options, sums)
    return sent.then((result) => result ?? this.#joinAndReserve(entries, options, sums))
  }

  #joinAndReserve(
    entries: readonly ReservationEntry[],
    options: ReserveOptions,
    sums: KnownSums,
  ): MaybePromise<HeldResult> {
    const attempt = () => chain(this.#join(), () => this.#send(entries, options, sums))
    return chain(attempt(), (result) => result ?? this.#poll(attempt, options))
  }

  /** Counters that are being recovered are unavailable to those who do not wait. */
  async #poll(
    attempt: () => MaybePromise<HeldResult | undefined>,
    { client, waitMs }: ReserveOptions,
  ): Promise<HeldResult> {
    const deadline = performance.now() + waitMs
    const waiter = new Waiter(
      () => true,
      () => undefined,
    )
    const unsubscribe = client.onAbort(() => waiter.wake())
    try {
      for (;;) {
        const leftMs = deadline - performance.now()
        if (leftMs <= 0 || client.isAborted)
          throw new SharedStateUnavailableError('counters are being recovered')
        await whileWaiting(client.waiting, waiter.sleep(Math.min(POLL_MS.max, leftMs)))
        const result = await attempt()
        if (result !== undefined) return result
      }
    } finally {
      unsubscribe()
    }
  }

  /** Undefined while the counters are being recovered. */
  #send(
    entries: readonly ReservationEntry[],
    options: ReserveOptions,
    sums: KnownSums,
  ): MaybePromise<HeldResult | undefined> {
    const known = sums.generation === this.#member.generation ? withSums(entries, sums) : entries
    const id = this.#member.newId(options.remembered)
    const call = this.#member.call()
    const sent = this.#shared.reserve(call, id, known, HOLD_MS)
    if (!(sent instanceof Promise)) return this.#finish(call, id, sent, entries, options, sums)
    return sent.then(
      (outcome) => this.#finish(call, id, outcome, entries, options, sums),
      (error: unknown) => {
        if (!(error instanceof NotSentError)) {
          this.#member.abandon(id, entries)
          void this.#settle(id)
        }
        throw error
      },
    )
  }

  #finish(
    call: ReservationCall,
    id: string,
    outcome: ReservationOutcome,
    entries: readonly ReservationEntry[],
    options: ReserveOptions,
    sums: KnownSums,
  ): MaybePromise<HeldResult | undefined> {
    const { result, index, counters, registered } = outcome
    if (result === 'granted') {
      const { remembered = 'never' } = options
      const now = remembered === 'window' ? performance.now() : 0
      const key = this.#member.granted(id, entries, outcome, remembered, now)
      const settle = (used: readonly number[]) => {
        if (this.#member.settle(key, used)) void this.#settle(key)
      }
      return { hold: { settle }, refusedBy: -1, isTemporary: false, counters }
    }
    if (result === 'unknown') this.#member.leave(call)
    if (result === 'unknown' || result === 'recovering') return undefined
    const entry = entries[index]
    if (result === 'missing' && entry !== undefined) {
      if (options.loadInitial === undefined)
        throw new TypeError(`the counter ${entry.key} has no initial value`)
      const { generation } = this.#member
      const earlier = sums.generation === generation ? sums.byKey : NO_SUMS.byKey
      return options.loadInitial(entry, { generation, except: registered.map(requestOf) }).then((sum) => {
        const byKey = new Map([...earlier, [entry.key, sum]])
        return this.#attempt(entries, options, { generation, byKey })
      })
    }
    const { amount, limit } = entry ?? { amount: 0, limit: null }
    const isTemporary = limit !== null && (counters[index]?.used ?? 0) + amount <= limit
    return { refusedBy: index, isTemporary, counters }
  }

  /** Settles a reservation, or releases one of unknown outcome. Resolves even if that fails. */
  #settle(key: string): MaybePromise<void> {
    const command = this.#member.settleCommand(key)
    if (command === undefined || !this.#member.isJoined || this.#settling.has(key)) return
    const { reservation, used } = command
    const call = this.#member.call()
    const settled = this.#shared.settle(call, reservation, used)
    if (!(settled instanceof Promise)) return this.#settled(key, call, reservation, settled)
    this.#settling.add(key)
    return settled.then(
      (isMember) => {
        this.#settling.delete(key)
        this.#settled(key, call, reservation, isMember)
      },
      // It is repeated by `#tick`. The shared state logs when it becomes unavailable.
      () => void this.#settling.delete(key),
    )
  }

  #settled(key: string, call: ReservationCall, { entries }: OpenReservation, isMember: boolean): void {
    if (!isMember) {
      this.#member.leave(call)
      return
    }
    this.#member.acknowledged(key)
    if (this.#lines.areInUse) for (const entry of entries) this.#lines.wakeFirst(entry.key)
  }

  /** Resolves when the shared state knows this process and its reservations. */
  #join(): MaybePromise<void> {
    if (this.#member.isJoined) return
    if (this.#joining !== undefined) return this.#joining
    const joined = this.#register()
    if (!(joined instanceof Promise)) return
    this.#joining = joined.finally(() => {
      this.#joining = undefined
    })
    return this.#joining
  }

  #register(): MaybePromise<void> {
    this.#timer ??= setInterval(() => void this.#tick().catch(() => undefined), RETRY_MS).unref()
    const [first, ...others] = this.#member.registrations(performance.now())
    if (first === undefined) return
    const join = (part: Registration) => this.#shared.join(this.#member.call(), part, LEASE)
    let sent = join(first)
    for (const part of others) sent = chain(sent, () => join(part))
    return chain(sent, (membership) => {
      if (membership === undefined) throw new SharedStateUnavailableError('a later command came first')
      this.#member.joined(membership)
      this.#renewedAt = performance.now()
      this.#heardAt = this.#renewedAt
      for (const key of this.#member.unsettled()) void this.#settle(key)
    })
  }

  /** Repeats what has failed. */
  async #tick(): Promise<void> {
    await this.#join()
    for (const key of this.#member.unsettled()) void this.#settle(key)
    const now = performance.now()
    if (now - this.#renewedAt >= RENEWAL_MS) {
      await this.#renew(this.#member.toRenew(now))
      if (this.#member.isJoined) this.#renewedAt = now
    } else if (now - this.#heardAt >= HEARTBEAT_MS) await this.#renew([])
  }

  #renew(reservations: readonly OpenReservation[]): MaybePromise<void> {
    const call = this.#member.call()
    const sentAt = performance.now()
    return chain(this.#shared.renew(call, reservations, LEASE), (membership) => {
      if (membership === undefined) return this.#member.leave(call)
      this.#member.renewed(membership)
      this.#heardAt = sentAt
    })
  }
}

/** Sums that were computed in a generation, and are only true of it. */
interface KnownSums {
  readonly generation: string
  readonly byKey: ReadonlyMap<string, number>
}

const NO_SUMS: KnownSums = { generation: '', byKey: new Map() }

function withSums(entries: readonly ReservationEntry[], { byKey }: KnownSums): readonly ReservationEntry[] {
  return entries.map((entry) => ({ ...entry, initial: entry.initial ?? byKey.get(entry.key) ?? null }))
}
