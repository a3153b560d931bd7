import {
  type AmountInWindow,
  type CounterUse,
  FORGOTTEN_MS,
  isRefused,
  type Lease,
  type Membership,
  type OpenReservation,
  type Peer,
  type Registration,
  type ReservationCall,
  type ReservationEntry,
  type ReservationOutcome,
  SAME_WINDOW_MS,
  type SharedReservations,
  unusedCounter,
} from './reservations.ts'

interface Counter {
  /** The generation in which its reservations were made. */
  generation: string
  /** Whether `used` has what was used before the counter was created. */
  hasSum: boolean
  /** What was used in earlier generations, at least. */
  before: number
  used: number
  reserved: number
  /** By the clock; Infinity without a window. */
  readonly endsAt: number
  readonly open: Map<string, { readonly amount: number; expiresAt: number }>
  /** What was registered in this generation. */
  readonly registered: Set<string>
  /** No open reservation ends before this time. */
  nextExpiry: number
}

interface Member {
  generation: string
  order: number
  leaseEndsAt: number
}

interface Generation {
  readonly id: string
  readonly run: string
  readonly since: number
  renewedAt: number
  /** Whether a member has joined that knows the others. */
  hasPeers: boolean
  isReady: boolean
  /** Whether a reservation has ended that was not settled: its member may have recorded what it used. */
  isOver: boolean
}

/** Everything that is kept. Without functions, so that the model can copy it. */
export interface ReservationData {
  generation: Generation | undefined
  readonly members: Map<string, Member>
  /** Members that have not joined this generation, with the time until which they are waited for. */
  readonly awaited: Map<string, number>
  readonly counters: Map<string, Counter>
}

interface MemoryReservations extends SharedReservations {
  join(call: ReservationCall, registration: Registration, lease: Lease): Membership | undefined
  renew(call: ReservationCall, reservations: readonly OpenReservation[], lease: Lease): Membership | undefined
  reserve(
    call: ReservationCall,
    id: string,
    entries: readonly ReservationEntry[],
    holdMs: number,
  ): ReservationOutcome
  settle(call: ReservationCall, reservation: OpenReservation, used: readonly number[]): boolean
  read(keys: readonly string[]): readonly (CounterUse | null)[]
}

interface MemoryOptions {
  readonly data?: ReservationData
  /** Identifies a start of what keeps the data: after another one, they may be old. */
  readonly run?: string
  /** See `RECOVERY_MS`. Memory is never out of reach of its members, nor older than they know. */
  readonly graceMs?: number
  readonly silenceMs?: number
}

export function createReservationData(): ReservationData {
  return { generation: undefined, members: new Map(), awaited: new Map(), counters: new Map() }
}

/**
 * Keeps counters in this process, synchronously. `now` is a monotonic clock in milliseconds. The scripts of
 * `redis-scripts.ts` do the same.
 */
export function createMemoryReservations(
  now: () => number = () => performance.now(),
  options: MemoryOptions = {},
): MemoryReservations {
  const {
    data = createReservationData(),
    run = '',
    graceMs = 0,
    silenceMs = Number.POSITIVE_INFINITY,
  } = options
  const { members, awaited, counters } = data
  let nextSweepSize = 1000

  /** Whether the command of a member may be executed. */
  function accepts(call: ReservationCall, at: number): boolean {
    const { generation } = data
    const member = members.get(call.member)
    if (generation?.id !== call.generation || member?.generation !== call.generation) return false
    return !isLost(generation, at) && isNext(member, call.order)
  }

  function isLost(generation: Generation, at: number): boolean {
    return generation.isOver || generation.run !== run || at - generation.renewedAt > silenceMs
  }

  function isReady(generation: Generation, at: number): boolean {
    if (generation.isReady) return true
    for (const [member, until] of awaited) if (until <= at) awaited.delete(member)
    generation.isReady = awaited.size === 0 && (generation.hasPeers || at >= generation.since + graceMs)
    return generation.isReady
  }

  /** Begins a generation, in which all known members have to register. */
  function begin(id: string, at: number): Generation {
    const last = data.generation
    awaited.clear()
    for (const [member, { leaseEndsAt }] of members) {
      // Nobody could renew anything while the data were out of reach.
      const leaseMs = leaseEndsAt - (last?.renewedAt ?? at)
      if (leaseMs > 0) awaited.set(member, at + leaseMs)
    }
    const hasPeers = awaited.size > 0
    data.generation = { id, run, since: at, renewedAt: at, hasPeers, isReady: false, isOver: false }
    return data.generation
  }

  function toMembership(generation: Generation, own: string, at: number): Membership {
    // Those that are waited for must be waited for after the next loss, too.
    const peers: Peer[] = [...awaited]
      .filter(([member, until]) => member !== own && until > at)
      .map(([member, until]) => ({ member, leaseMs: until - at }))
    for (const [member, { leaseEndsAt, generation: joined }] of members) {
      const leaseMs = leaseEndsAt - at
      if (leaseMs <= -FORGOTTEN_MS) members.delete(member)
      else if (leaseMs > 0 && member !== own && joined === generation.id && !awaited.has(member))
        peers.push({ member, leaseMs })
    }
    return { generation: generation.id, isReady: isReady(generation, at), peers }
  }

  /** Returns the counter if its window is running. */
  function find(key: string, at: number): Counter | undefined {
    const counter = counters.get(key)
    if (counter === undefined) return undefined
    const { generation } = data
    if (generation !== undefined && counter.generation !== generation.id) renewCounter(counter, generation.id)
    if (at < counter.endsAt && !isUnused(counter)) return counter
    counters.delete(key)
    return undefined
  }

  function findInWindow({ key, window }: AmountInWindow, at: number): Counter | undefined {
    const counter = find(key, at)
    if (counter === undefined || window === -1) return counter
    return Math.abs(windowOf(counter) - window) < SAME_WINDOW_MS ? counter : undefined
  }

  function create(key: string, endsAt: number, at: number): Counter {
    const counter: Counter = {
      generation: data.generation?.id ?? '',
      hasSum: false,
      before: 0,
      used: 0,
      reserved: 0,
      endsAt,
      open: new Map(),
      registered: new Set(),
      nextExpiry: Number.POSITIVE_INFINITY,
    }
    if (counters.size >= nextSweepSize) sweep(at)
    counters.set(key, counter)
    return counter
  }

  function withSum(
    found: Counter | undefined,
    { key, windowMs, initial }: ReservationEntry,
    at: number,
  ): Counter {
    const endsAt = windowMs === null ? Number.POSITIVE_INFINITY : at + windowMs
    return addSum(found ?? create(key, endsAt, at), initial)
  }

  /** Drops counters that are no longer in use. Amortized, so cheap. */
  function sweep(at: number): void {
    for (const key of counters.keys()) find(key, at)
    nextSweepSize = Math.max(counters.size * 2, 1000)
  }

  /** Returns the counter to register in; undefined if its window has ended. */
  function findOrCreate(entry: AmountInWindow, at: number): Counter | undefined {
    const found = findInWindow(entry, at)
    const endsAt = entry.window === 0 ? Number.POSITIVE_INFINITY : entry.window
    if (found !== undefined || counters.has(entry.key) || at >= endsAt) return found
    return create(entry.key, endsAt, at)
  }

  function keepOpen(id: string, entry: AmountInWindow, isNew: boolean, expiresAt: number, at: number): void {
    const counter = isNew ? findOrCreate(entry, at) : findInWindow(entry, at)
    const reservation = counter?.open.get(id)
    if (reservation !== undefined) reservation.expiresAt = expiresAt
    else if (isNew && counter !== undefined && register(counter, id))
      openReservation(counter, id, entry.amount, expiresAt)
  }

  return {
    join(call, { nextGeneration, open, settled, peers, isLast }, { leaseMs, holdMs }) {
      const at = Math.floor(now())
      const member = members.get(call.member)
      if (member !== undefined && !isNext(member, call.order)) return undefined
      const isKnown = data.generation?.id === call.generation
      const isLate =
        call.generation !== '' &&
        !isKnown &&
        member?.generation !== data.generation?.id &&
        open.length + settled.length > 0 &&
        data.generation !== undefined &&
        isReady(data.generation, at)
      const { generation: last } = data
      const generation = !last || isLate || isLost(last, at) ? begin(nextGeneration, at) : last
      generation.renewedAt = at
      const leaseEndsAt = at + leaseMs
      const joined = isLast ? generation.id : (member?.generation ?? '')
      members.set(call.member, { generation: joined, order: call.order, leaseEndsAt })
      // If the answer to an earlier call was lost, everything is registered already.
      const isNew = generation.id !== call.generation && member?.generation !== generation.id
      if (isNew && call.generation !== '') {
        generation.hasPeers = true
        for (const peer of peers) {
          if (members.get(peer.member)?.generation !== generation.id && !awaited.has(peer.member))
            awaited.set(peer.member, at + peer.leaseMs)
        }
      }
      if (isLast) awaited.delete(call.member)
      else awaited.set(call.member, leaseEndsAt)
      for (const { id, entries } of open)
        for (const entry of entries) keepOpen(id, entry, isNew, at + holdMs, at)
      for (const { id, entries } of isNew ? settled : []) {
        for (const entry of entries) {
          const counter = findOrCreate(entry, at)
          if (counter !== undefined && register(counter, id)) counter.used += entry.amount
        }
      }
      return toMembership(generation, call.member, at)
    },
    renew(call, reservations, { leaseMs, holdMs }) {
      const at = Math.floor(now())
      const { generation } = data
      const member = members.get(call.member)
      if (!accepts(call, at) || generation === undefined || member === undefined) return undefined
      generation.renewedAt = at
      member.leaseEndsAt = at + leaseMs
      for (const { id, entries } of reservations)
        for (const entry of entries) keepOpen(id, entry, false, at + holdMs, at)
      return toMembership(generation, call.member, at)
    },
    reserve(call, id, entries, holdMs) {
      const at = Math.floor(now())
      if (!accepts(call, at) || data.generation === undefined) return UNKNOWN
      if (!isReady(data.generation, at)) return RECOVERING
      const found = entries.map(({ key }) => find(key, at))
      let missing = -1
      let full = -1
      for (let index = 0; index < entries.length; index++) {
        const entry = entries[index] as ReservationEntry
        const counter = found[index]
        if (counter !== undefined && hasEnded(counter, at)) {
          data.generation.isOver = true
          return UNKNOWN
        }
        if (missing === -1 && entry.initial === null && !counter?.hasSum) missing = index
        if (full === -1 && isRefused(entry, counter?.hasSum ? counter : describe(counter, entry, at)))
          full = index
      }
      if (missing === -1 && full === -1) {
        const after = entries.map((entry, index) => {
          const counter = withSum(found[index], entry, at)
          openReservation(counter, id, entry.amount, at + holdMs)
          return describeCounter(counter, at)
        })
        return { result: 'granted', index: -1, counters: after, registered: NONE }
      }
      const before = entries.map((entry, index) => describe(found[index], entry, at))
      if (missing !== -1) {
        const registered = [...(found[missing]?.registered ?? [])]
        return { result: 'missing', index: missing, counters: before, registered }
      }
      // A known sum is kept, so that it is not computed again for the next request.
      for (const [index, entry] of entries.entries())
        if (found[index] !== undefined || entry.initial) withSum(found[index], entry, at)
      return { result: 'refused', index: full, counters: before, registered: NONE }
    },
    settle(call, { id, entries }, used) {
      const at = Math.floor(now())
      if (!accepts(call, at)) return false
      for (let index = 0; index < entries.length; index++) {
        const entry = entries[index] as AmountInWindow
        const counter = findInWindow(entry, at)
        if (counter === undefined) continue
        if (closeReservation(counter, id)) counter.used += used[index] ?? 0
        if (isUnused(counter)) counters.delete(entry.key)
      }
      return true
    },
    read(keys) {
      const at = Math.floor(now())
      return keys.map((key) => {
        const counter = find(key, at)
        return counter?.hasSum ? describeCounter(counter, at) : null
      })
    },
  }
}

const NONE: readonly string[] = []
const UNKNOWN: ReservationOutcome = { result: 'unknown', index: -1, counters: [], registered: NONE }
const RECOVERING: ReservationOutcome = { ...UNKNOWN, result: 'recovering' }

function isNext(member: Member, order: number): boolean {
  if (order <= member.order) return false
  member.order = order
  return true
}

/** What a counter knows of earlier generations may lack their end. */
function renewCounter(counter: Counter, generation: string): void {
  if (counter.hasSum) counter.before = counter.used
  counter.generation = generation
  counter.hasSum = false
  counter.used = 0
  counter.reserved = 0
  counter.open.clear()
  counter.registered.clear()
}

/** Adds what was used before, if it is not known yet. What was registered may be part of `before`. */
function addSum(counter: Counter, initial: number | null): Counter {
  if (counter.hasSum) return counter
  counter.used += sumToAdd(counter, initial)
  counter.hasSum = true
  counter.registered.clear()
  return counter
}

function sumToAdd({ before, used }: Counter, initial: number | null): number {
  return Math.max(initial ?? 0, before - used)
}

/** Returns false if it was registered before. */
function register({ registered }: Counter, id: string): boolean {
  if (registered.has(id)) return false
  registered.add(id)
  return true
}

function openReservation(counter: Counter, id: string, amount: number, expiresAt: number): void {
  counter.open.set(id, { amount, expiresAt })
  counter.reserved += amount
  counter.nextExpiry = Math.min(counter.nextExpiry, expiresAt)
}

/** Whether a reservation has ended that was not settled. */
function hasEnded(counter: Counter, at: number): boolean {
  if (at < counter.nextExpiry) return false
  counter.nextExpiry = Number.POSITIVE_INFINITY
  for (const { expiresAt } of counter.open.values())
    counter.nextExpiry = Math.min(counter.nextExpiry, expiresAt)
  return at >= counter.nextExpiry
}

function closeReservation(counter: Counter, id: string): boolean {
  const reservation = counter.open.get(id)
  if (reservation === undefined) return false
  counter.reserved -= reservation.amount
  return counter.open.delete(id)
}

/** A counter without a window and without content is as if it did not exist. */
function isUnused({ used, before, open, registered, endsAt }: Counter): boolean {
  return endsAt === Number.POSITIVE_INFINITY && used + before + open.size + registered.size === 0
}

function describe(counter: Counter | undefined, { initial }: ReservationEntry, at: number): CounterUse {
  if (counter === undefined) return unusedCounter(initial)
  const state = describeCounter(counter, at)
  return counter.hasSum ? state : { ...state, used: state.used + sumToAdd(counter, initial) }
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
