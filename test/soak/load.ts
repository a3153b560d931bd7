import { setTimeout as delay } from 'node:timers/promises'
import type { Actor } from './actors/actor.ts'
import type { Addresses } from './client.ts'
import { InDoubt, Unexpected } from './expect.ts'
import type { Kind, World } from './world.ts'

/** Traffic that continues until it is stopped. */
export interface Load {
  setRate(perSecond: number): void
  sent(): number
  inFlight(): number
  /** Requests that were due but not sent, because too many were in flight. */
  held(): number
  /** Returns the durations of the plain requests since the last call, in milliseconds. */
  takeTimes(): readonly number[]
  /** Starts no more requests, and resolves when all have ended. */
  stop(): Promise<void>
}

/** The gateway's addresses; undefined while it is down. */
export type WhereIsIt = () => Addresses | undefined

const TICK_MS = 10

/** The maximum number of requests in flight. A slow machine gets fewer requests, not a queue. */
const MAX_IN_FLIGHT = 300

const TIMED = 'chat, whole'

export function startLoad(
  world: World,
  kinds: readonly Kind[],
  actors: readonly Actor[],
  whereIsIt: WhereIsIt,
  rate: number,
): Load {
  const { chance, tally } = world
  const total = kinds.reduce((sum, { weight }) => sum + weight, 0)
  const running = new Set<Promise<void>>()
  let [perSecond, due, sent, held] = [rate, 0, 0, 0]
  let times: number[] = []
  let isStopped = false

  /** Null if the failure is expected, because the gateway was killed meanwhile. */
  async function attempt(name: string, run: () => Promise<string>): Promise<unknown> {
    const life = world.life()
    try {
      tally.note(name, await run())
      return undefined
    } catch (error) {
      if (error instanceof Unexpected || (life === world.life() && whereIsIt() !== undefined))
        tally.fail(name, describe(error))
      else tally.note(name, 'lost in the kill')
      return error
    }
  }

  function pick(): Kind {
    let at = (chance.integer(1e9) / 1e9) * total
    for (const kind of kinds) {
      at -= kind.weight
      if (at < 0) return kind
    }
    return kinds[0] as Kind
  }

  async function send(): Promise<void> {
    const { name, run } = pick()
    const begun = performance.now()
    const error = await attempt(name, () => run(world))
    if (error === undefined && name === TIMED) times.push(performance.now() - begun)
  }

  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    due += ((now - last) / 1000) * perSecond
    last = now
    for (; due >= 1; due--) {
      if (whereIsIt() === undefined) continue
      if (running.size >= MAX_IN_FLIGHT) {
        held++
        continue
      }
      sent++
      const run: Promise<void> = send().finally(() => running.delete(run))
      running.add(run)
    }
  }, TICK_MS)

  /**
   * An actor sends one request at a time. After one whose outcome is unknown, and after a restart of the
   * gateway, it first reads the current state.
   */
  async function play(actor: Actor): Promise<void> {
    let life = world.life()
    let isLost = false
    while (!isStopped) {
      const addresses = whereIsIt()
      if (addresses === undefined) {
        await delay(20)
        continue
      }
      if (isLost || life !== world.life()) {
        life = world.life()
        isLost = (await attempt(actor.name, () => settle(actor, addresses))) !== undefined
        continue
      }
      sent++
      const error = await attempt(actor.name, actor.act)
      isLost = error instanceof InDoubt || (error !== undefined && !(error instanceof Unexpected))
      await pause(actor.everyMs * (0.5 + chance.integer(1000) / 1000))
    }
  }

  /** Waits in short steps, so that it can be stopped quickly. */
  async function pause(milliseconds: number): Promise<void> {
    const end = performance.now() + milliseconds
    while (!isStopped && performance.now() < end) await delay(Math.min(200, end - performance.now()))
  }

  const playing = actors.map(play)
  return {
    setRate(next) {
      perSecond = next
    },
    sent: () => sent,
    inFlight: () => running.size,
    held: () => held,
    takeTimes() {
      const taken = times
      times = []
      return taken
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      await Promise.all([...running, ...playing])
    },
  }
}

async function settle(actor: Actor, addresses: Addresses): Promise<string> {
  await actor.settle(addresses)
  return 'found its place again'
}

function describe(error: unknown): string {
  if (error instanceof Unexpected) return error.message
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? `${error.code} ` : ''
  return `${error.name}: ${code}${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ''}`
}
