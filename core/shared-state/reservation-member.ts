import type {
  AmountInWindow,
  Membership,
  OpenReservation,
  Peer,
  Registration,
  ReservationCall,
  ReservationEntry,
  ReservationOutcome,
} from './reservations.ts'

/** Settled requests that the ledger does not have yet. Beyond it, the oldest are forgotten. */
const MAX_UNRECORDED = 20_000

/** Reservations of unknown outcome. Beyond it, the oldest are left to end by themselves. */
const MAX_ABANDONED = 10_000

/**
 * Until when a settled reservation is registered again after a loss: until the ledger has the request with
 * this id, until its window has ended (`window`), or not at all (`never`).
 */
export type Remembered = { readonly requestId: string } | 'window' | 'never'

/** A reservation that this process has made. */
interface OwnReservation {
  readonly reservation: OpenReservation
  readonly remembered: Remembered
  /** Whether the ledger has the request already. */
  isRecorded: boolean
  /** When the window of each entry ends, by the clock of this process. Empty unless remembered until then. */
  readonly endsAt: readonly number[]
  /** What was used of it, once that is known. */
  used: readonly number[] | undefined
}

/** What was used of a reservation, which the command that settles it says. */
export interface Settled {
  readonly reservation: OpenReservation
  readonly used: readonly number[]
}

function isSettled(own: OwnReservation): own is OwnReservation & Settled {
  return own.used !== undefined
}

/**
 * What a process knows of its reservations, and what it has to say to the shared state: pure, without any
 * input or output. `HeldReservations` sends the commands; the model of the protocol, in the tests, loses,
 * delays and repeats them. See docs/decisions/limits.md, "A loss begins a new generation".
 */
export class ReservationMember {
  readonly id: string
  #generation = ''
  #isJoined = false
  #isReady = false
  #order = 0
  #ids = 0
  #peers: readonly Peer[] = []
  /**
   * Granted, and the shared state has not acknowledged what was used: by request, or by id. Those of which
   * that is known have to be settled.
   */
  #open = new Map<string, OwnReservation>()
  /** Keys of settlements that the registration has, which may have to be repeated. */
  #registering: ReadonlySet<string> | undefined
  /** Reservations whose answer was lost, by id. */
  #abandoned = new Map<string, OpenReservation>()
  /** What was settled, by request, while the ledger may not have it. */
  #unrecorded = new Map<string, Settled>()
  /** What was settled in windows that are running, by counter. */
  #windows = new Map<string, AmountInWindow & { readonly endsAt: number }>()

  constructor(id: string) {
    this.id = id
  }

  /** A copy, for the model. */
  clone(): ReservationMember {
    const copy = new ReservationMember(this.id)
    copy.#generation = this.#generation
    copy.#isJoined = this.#isJoined
    copy.#isReady = this.#isReady
    copy.#order = this.#order
    copy.#ids = this.#ids
    copy.#peers = this.#peers
    for (const [key, own] of this.#open) copy.#open.set(key, { ...own })
    copy.#registering = this.#registering
    copy.#abandoned = new Map(this.#abandoned)
    copy.#unrecorded = new Map(this.#unrecorded)
    copy.#windows = new Map(this.#windows)
    return copy
  }

  /** Everything that decides about what follows, for the model. */
  describe() {
    return {
      generation: this.#generation,
      isJoined: this.#isJoined,
      order: this.#order,
      ids: this.#ids,
      peers: this.#peers,
      open: this.#open,
      registering: this.#registering,
      abandoned: this.#abandoned,
      unrecorded: this.#unrecorded,
      windows: this.#windows,
    }
  }

  /** That of the last join. */
  get generation(): string {
    return this.#generation
  }

  /** Whether reservations can be made, as of the last join or renewal. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** Whether commands other than `join` may be sent. */
  get isJoined(): boolean {
    return this.#isJoined
  }

  /** Returns the id of a new reservation. That of a request begins with its id: see `requestOf`. */
  newId(remembered: Remembered = 'never'): string {
    this.#ids += 1
    const { requestId } = typeof remembered === 'string' ? { requestId: this.id } : remembered
    return `${requestId}${SEPARATOR}${this.#ids}`
  }

  call(): ReservationCall {
    this.#order += 1
    return { member: this.id, generation: this.#generation, order: this.#order }
  }

  /** What to send with `join`, in parts of at most `size` reservations. */
  registrations(now: number, size = MAX_PART): readonly Registration[] {
    this.#forgetWindows(now)
    const windows = [...this.#windows].map(([key, entry]) => ({ id: `${this.id}-${key}`, entries: [entry] }))
    this.#registering ??= new Set(this.#toSettle())
    const settled = [...[...this.#unrecorded.values()].map(withUsed), ...windows]
    const open: OpenReservation[] = []
    for (const [key, own] of this.#open) {
      if (!isSettled(own) || !this.#registering.has(key)) open.push(own.reservation)
      else if (own.remembered !== 'never') settled.push(withUsed(own))
    }
    const nextGeneration = this.newId()
    const parts = Math.max(1, Math.ceil(Math.max(open.length, settled.length) / size))
    return Array.from({ length: parts }, (_, part) => ({
      nextGeneration,
      open: open.slice(part * size, (part + 1) * size),
      settled: settled.slice(part * size, (part + 1) * size),
      peers: part === 0 ? this.#peers : [],
      isLast: part === parts - 1,
    }))
  }

  joined({ generation, peers, isReady }: Membership): void {
    if (generation !== this.#generation) this.#forgetEarlier()
    this.#registering = undefined
    this.#generation = generation
    this.#peers = peers
    this.#isReady = isReady
    this.#isJoined = true
  }

  renewed({ peers, isReady }: Membership): void {
    this.#peers = peers
    this.#isReady = isReady
  }

  /** The shared state does not know this member: counters may be lost. */
  leave({ generation }: ReservationCall): void {
    if (generation === this.#generation) this.#isJoined = false
  }

  /** Returns what to renew. */
  toRenew(now: number): readonly OpenReservation[] {
    this.#forgetWindows(now)
    return [...this.#open.values()].map(({ reservation }) => reservation)
  }

  /** Returns the key for `settle`. */
  granted(
    id: string,
    entries: readonly ReservationEntry[],
    { counters }: ReservationOutcome,
    remembered: Remembered,
    now: number,
  ): string {
    const key =
      typeof remembered === 'string' || this.#open.has(remembered.requestId) ? id : remembered.requestId
    const amounts = entries.map(({ key, amount }, at) => ({ key, amount, window: counters[at]?.window ?? 0 }))
    this.#open.set(key, {
      reservation: { id, entries: amounts },
      remembered,
      isRecorded: false,
      endsAt: remembered === 'window' ? counters.map(({ resetMs }) => now + resetMs) : NO_TIMES,
      used: undefined,
    })
    return key
  }

  /** The answer to a reservation was lost: it is released if it was made. */
  abandon(id: string, entries: readonly ReservationEntry[]): void {
    const released = entries.map(({ key, amount }) => ({ key, amount, window: -1 }))
    this.#abandoned.set(id, { id, entries: released })
    const [oldest] = this.#abandoned.keys()
    if (this.#abandoned.size > MAX_ABANDONED && oldest !== undefined) this.#abandoned.delete(oldest)
  }

  /** Returns false if the reservation is settled already. */
  settle(key: string, used: readonly number[]): boolean {
    const own = this.#open.get(key)
    if (own === undefined || isSettled(own)) return false
    own.used = used
    return true
  }

  /** Returns the keys of reservations to settle. */
  unsettled(): readonly string[] {
    return [...this.#toSettle(), ...this.#abandoned.keys()]
  }

  *#toSettle(): Iterable<string> {
    for (const [key, own] of this.#open) if (isSettled(own)) yield key
  }

  /** The command's outcome is `acknowledged` or nothing. Undefined if it is settled already. */
  settleCommand(key: string): Settled | undefined {
    const abandoned = this.#abandoned.get(key)
    if (abandoned !== undefined) return { reservation: abandoned, used: [] }
    const own = this.#open.get(key)
    return own !== undefined && isSettled(own) ? own : undefined
  }

  /** The shared state has settled the reservation. */
  acknowledged(key: string): void {
    this.#abandoned.delete(key)
    const own = this.#open.get(key)
    if (own === undefined || !isSettled(own)) return
    this.#open.delete(key)
    this.#remember(own)
  }

  /** The ledger has this request. */
  recorded(requestId: string): void {
    if (this.#unrecorded.delete(requestId)) return
    const open = this.#open.get(requestId)
    if (open !== undefined) open.isRecorded = true
  }

  #remember(own: OwnReservation & Settled): void {
    const { remembered, isRecorded, endsAt } = own
    if (remembered === 'never' || isRecorded) return
    if (remembered !== 'window') {
      this.#unrecorded.set(remembered.requestId, own)
      if (this.#unrecorded.size <= MAX_UNRECORDED) return
      const [oldest] = this.#unrecorded.keys()
      if (oldest !== undefined) this.#unrecorded.delete(oldest)
      return
    }
    withUsed(own).entries.forEach((entry, at) => {
      if (entry.amount === 0 || entry.window === 0) return
      const known = this.#windows.get(entry.key)
      const before = known?.window === entry.window ? known.amount : 0
      const amount = before + entry.amount
      this.#windows.set(entry.key, { ...entry, amount, endsAt: endsAt[at] ?? 0 })
    })
  }

  /** Nothing of an earlier generation is executed in a new one. */
  #forgetEarlier(): void {
    this.#abandoned.clear()
    for (const key of this.#registering ?? []) this.acknowledged(key)
  }

  #forgetWindows(now: number): void {
    for (const [key, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(key)
  }
}

/** The reservation with what was used of it in place of what was reserved. */
function withUsed({ reservation: { id, entries }, used }: Settled): OpenReservation {
  return { id, entries: entries.map(({ key, window }, at) => ({ key, window, amount: used[at] ?? 0 })) }
}

const NO_TIMES: readonly number[] = []

/** Reservations of one part of a registration. */
const MAX_PART = 1000

const SEPARATOR = '.'

/** Returns the id of the request that a reservation was made for. */
export function requestOf(reservationId: string): string {
  return reservationId.split(SEPARATOR, 1)[0] ?? ''
}
