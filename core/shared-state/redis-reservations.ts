import type { Redis } from 'ioredis'
import type { MaybePromise } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import { RESULTS } from './redis-scripts.ts'
import type {
  CounterUse,
  Membership,
  OpenReservation,
  ReservationCall,
  ReservationOutcome,
  SharedReservations,
} from './reservations.ts'

type Argument = string | number

type Command<Reply> = (keys: number, ...args: readonly Argument[]) => Promise<Reply>

type ReserveReply = readonly [
  result: number,
  position: number,
  values: readonly number[],
  registered: readonly string[],
]

/** A client with the scripts as commands. Each takes the number of keys, the keys and the arguments. */
export interface ReservationRedis extends Redis {
  readonly joinReservations: Command<readonly string[] | null>
  readonly renewReservations: Command<readonly string[] | null>
  readonly reserveAmounts: Command<ReserveReply>
  readonly settleAmounts: Command<number>
  readonly readReservations: Command<readonly number[]>
}

/** All counters of a Redis share one generation, because they are lost together. */
const GENERATION_PREFIX = 'signalbox:'

interface ReservationOptions {
  readonly prefix: string
  /**
   * Returns the id of the running server, which changes when it loads its data again. Throws a `NotSentError`
   * without a connection.
   */
  readonly run: () => MaybePromise<string>
  readonly rejectUnavailable: (error: Error) => never
}

export function createRedisReservations(
  redis: ReservationRedis,
  { prefix, run, rejectUnavailable }: ReservationOptions,
): SharedReservations {
  /** Calls a script. No promise is in between, so that commands are sent in the order of their numbers. */
  function send<Reply>(
    name: 'joinReservations' | 'renewReservations' | 'reserveAmounts' | 'settleAmounts',
    { member, generation, order }: ReservationCall,
    counters: readonly string[],
    args: readonly Argument[],
  ): Promise<Reply> {
    const keys = [GENERATION_PREFIX, ...counters.map((key) => prefix + key)]
    const sent = chain(
      run(),
      (id): Promise<unknown> => redis[name](keys.length, ...keys, id, member, generation, order, ...args),
    )
    return sent.catch(rejectUnavailable) as Promise<Reply>
  }

  return {
    async join(call, { nextGeneration, open, settled, peers, isLast }, { leaseMs, holdMs }) {
      const rows = [...open, ...settled]
      const opened = open.reduce((sum, { entries }) => sum + entries.length, 0)
      return toMembership(
        await send('joinReservations', call, keysOf(rows), [
          ...[Math.ceil(leaseMs), holdMs, nextGeneration, isLast ? 1 : 0, opened],
          ...rows.flatMap(rowsOf),
          ...peers.flatMap((peer) => [peer.member, Math.ceil(peer.leaseMs)]),
        ]),
      )
    },
    async renew(call, reservations, { leaseMs, holdMs }) {
      const rows = reservations.flatMap(rowsOf)
      return toMembership(
        await send('renewReservations', call, keysOf(reservations), [leaseMs, holdMs, ...rows]),
      )
    },
    async reserve(call, id, entries, holdMs) {
      const rows = entries.flatMap(({ amount, limit, windowMs, initial }) => [
        ...[amount, limit ?? '', windowMs === null ? '' : Math.ceil(windowMs), initial ?? ''],
      ])
      const keys = entries.map(({ key }) => key)
      return toOutcome(await send('reserveAmounts', call, keys, [id, holdMs, ...rows]))
    },
    async settle(call, { id, entries }, used) {
      const rows = entries.flatMap(({ amount, window }, index) => [amount, used[index] ?? 0, window])
      const keys = entries.map(({ key }) => key)
      return (await send<number>('settleAmounts', call, keys, [id, ...rows])) === 1
    },
    async read(names) {
      const keys = [GENERATION_PREFIX, ...names.map((key) => prefix + key)]
      const values = await redis.readReservations(keys.length, ...keys).catch(rejectUnavailable)
      return toCounters(values).map((counter) => (counter.used === -1 ? null : counter))
    },
  }
}

function keysOf(reservations: readonly OpenReservation[]): readonly string[] {
  return reservations.flatMap(({ entries }) => entries.map(({ key }) => key))
}

function rowsOf({ id, entries }: OpenReservation): readonly Argument[] {
  return entries.flatMap(({ amount, window }) => [id, amount, window])
}

function toMembership(reply: readonly string[] | null): Membership | undefined {
  const [generation, ready, ...rest] = reply ?? []
  if (generation === undefined) return undefined
  const peers = rest.flatMap((member, index) =>
    index % 2 === 0 ? [{ member, leaseMs: Number(rest[index + 1]) }] : [],
  )
  return { generation, isReady: ready === '1', peers }
}

function toOutcome([result, position, values, registered]: ReserveReply): ReservationOutcome {
  const counters = toCounters(values)
  return { result: RESULTS[result] ?? 'unknown', index: position - 1, counters, registered }
}

function toCounters(values: readonly number[]): readonly CounterUse[] {
  return Array.from({ length: values.length / 4 }, (_, index) => {
    const [used = 0, reserved = 0, resetMs = 0, window = 0] = values.slice(4 * index, 4 * index + 4)
    return { used, reserved, resetMs, window }
  })
}
