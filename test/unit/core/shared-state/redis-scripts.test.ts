import { expect } from 'chai'
import { Redis } from 'ioredis'
import {
  createMemoryReservations,
  createReservationData,
} from '../../../../core/shared-state/memory-reservations.ts'
import {
  createRedisReservations,
  type ReservationRedis,
} from '../../../../core/shared-state/redis-reservations.ts'
import { buildReservationScripts } from '../../../../core/shared-state/redis-scripts.ts'
import {
  type OpenReservation,
  RECOVERY_MS,
  type ReservationCall,
  type SharedReservations,
} from '../../../../core/shared-state/reservations.ts'
import { createRandom } from '../../../support/random.ts'
import { type RunningRedis, requireRedis } from '../../../support/redis.ts'
import { ROUNDS } from '../../../support/rounds.ts'

const HOLD_MS = 60_000
const LEASE = { leaseMs: 30_000, holdMs: HOLD_MS }
const STEPS = 150

/** A key that expires with the window of its counter never does so before the clock of the test. */
const START = Date.now() + 365 * 24 * 60 * 60 * 1000

/** Entries of one reservation: with and without a window, and with and without a known sum. */
const ENTRIES = [
  { key: 'total', limit: 50, windowMs: null, initial: null },
  { key: 'minute', limit: 40, windowMs: 60_000, initial: 0 },
  { key: 'slot', limit: 3, windowMs: null, initial: 0 },
  { key: 'unlimited', limit: null, windowMs: 90_000, initial: null },
] as const

describe('the scripts for Redis', () => {
  let redis: RunningRedis
  let client: ReservationRedis
  before(async function () {
    redis = await requireRedis(this)
    const scripts = buildReservationScripts("local now = tonumber(redis.call('GET', 'test:clock'))")
    client = new Redis(redis.url, { scripts }) as ReservationRedis
  })
  after(async () => {
    client?.disconnect()
    await redis?.stop()
  })

  it('do what the reservations in memory do, in random series of commands, losses and waits', async () => {
    for (let series = 1; series <= ROUNDS.reservationSeries; series++) await compare(series)
  })

  async function compare(seed: number): Promise<void> {
    const random = createRandom(seed)
    let now = START
    let run = 'run1'
    let memory: SharedReservations
    const openMemory = (data = createReservationData()) => {
      const options = { data, run, graceMs: RECOVERY_MS.grace, silenceMs: RECOVERY_MS.silence }
      memory = createMemoryReservations(() => now, options)
      return data
    }
    let data = openMemory()
    await client.flushall()
    await client.set('test:clock', now)
    const inRedis = createRedisReservations(client, {
      prefix: 'test:',
      run: () => run,
      rejectUnavailable: (error) => {
        throw error
      },
    })
    const members: readonly Sender[] = ['one', 'two', 'three'].map((member) => ({
      member,
      generation: '',
      order: 0,
    }))
    const made: OpenReservation[] = []
    const log: unknown[] = []

    /** Sends a command to both. Some are sent twice, or late. */
    async function both<Answer>(name: string, send: (state: SharedReservations) => Answer | Promise<Answer>) {
      const [expected, actual] = [await send(memory), await send(inRedis)]
      log.push([name, now - START, expected])
      expect(normalize(actual), `seed ${seed}: ${JSON.stringify(log.slice(-8))}`).to.deep.equal(
        normalize(expected),
      )
      return expected
    }

    const call = (sender: Sender): ReservationCall => {
      if (random.integer(12) > 0) sender.order += 1
      return { ...sender, generation: random.integer(15) === 0 ? 'another' : sender.generation }
    }
    const some = (list: readonly OpenReservation[]) => list.filter(() => random.integer(3) === 0).slice(-6)

    const COMMANDS: Readonly<Record<string, (sender?: Sender) => Promise<void>>> = {
      async join(sender = random.pick(members)) {
        const peers = members
          .filter((member) => member !== sender && random.integer(2) === 0)
          .map(({ member }) => ({ member, leaseMs: 1000 * (1 + random.integer(20)) }))
        const registration = {
          nextGeneration: `g${log.length}`,
          open: some(made),
          settled: some(made),
          peers,
          isLast: random.integer(5) > 0,
        }
        const joining = call(sender)
        const answer = await both('join', (state) => state.join(joining, registration, LEASE))
        if (answer !== undefined && registration.isLast) sender.generation = answer.generation
      },
      async renew() {
        const [renewing, open] = [call(random.pick(members)), some(made)]
        await both('renew', (state) => state.renew(renewing, open, LEASE))
      },
      async reserve() {
        const first = random.integer(ENTRIES.length)
        const chosen = ENTRIES.filter((_, index) => index === first || random.chance(0.4)).map((entry) => ({
          ...entry,
          amount: random.integer(8),
          initial: entry.initial === null && random.integer(2) === 0 ? random.integer(20) : entry.initial,
        }))
        const sender = random.pick(members)
        const [reserving, id] = [call(sender), `r${log.length}`]
        const holdMs = random.pick([1000, HOLD_MS])
        const outcome = await both('reserve', (state) => state.reserve(reserving, id, chosen, holdMs))
        if (outcome.result === 'unknown' && random.chance(0.7)) await COMMANDS.join?.(sender)
        if (outcome.result !== 'granted') return
        made.push({
          id,
          entries: chosen.map(({ key, amount }, index) => ({
            key,
            amount,
            window: outcome.counters[index]?.window ?? 0,
          })),
        })
      },
      async settle() {
        const reservation = made[random.integer(made.length)]
        if (reservation === undefined) return
        const [settling, used] = [
          call(random.pick(members)),
          reservation.entries.map(() => random.integer(9)),
        ]
        const inAny = {
          ...reservation,
          entries: reservation.entries.map((entry) => ({ ...entry, window: -1 })),
        }
        const settled = random.chance(0.1) ? inAny : reservation
        await both('settle', (state) => state.settle(settling, settled, used))
      },
      async wait() {
        now += random.pick([1, 500, 1000, 3000, 12_000, 31_000, 61_000])
        await client.set('test:clock', now)
      },
      async restart() {
        if (random.integer(4) > 0) return
        run = `run${log.length}`
        data = openMemory(data)
      },
      async lose() {
        if (random.integer(6) > 0) return
        data = openMemory()
        await client.flushall()
        await client.set('test:clock', now)
      },
    }
    const names = [
      'join',
      'renew',
      'reserve',
      'reserve',
      'reserve',
      'settle',
      'settle',
      'wait',
      'restart',
      'lose',
    ]
    for (let step = 0; step < STEPS; step++) {
      await COMMANDS[random.pick(names)]?.()
      await both('read', (state) => state.read(ENTRIES.map(({ key }) => key)))
    }
  }
})

interface Sender {
  readonly member: string
  generation: string
  order: number
}

/** Without the order of sets. */
function normalize(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  const { peers, registered } = answer as {
    readonly peers?: readonly { readonly member: string }[]
    readonly registered?: readonly string[]
  }
  return {
    ...answer,
    ...(peers && { peers: peers.toSorted((a, b) => (a.member < b.member ? -1 : 1)) }),
    ...(registered && { registered: registered.toSorted() }),
  }
}
