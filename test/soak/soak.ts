import { setTimeout as delay } from 'node:timers/promises'
import { createRandom } from '../support/random.ts'
import { type Actors, KINDS, makeActors, makePeople } from './cast.ts'
import { createClient, type HttpClient } from './client.ts'
import { type Level, measureLevel } from './level.ts'
import { type Load, startLoad } from './load.ts'
import type { Options } from './options.ts'
import { rateFor, startCosting } from './pace.ts'
import { printHead, printSample, say } from './report.ts'
import { type Sample, startSampler } from './samples.ts'
import type { Scene } from './scene.ts'
import { createStoredLedger } from './stored.ts'
import { createTally } from './tally.ts'
import { createNonces } from './words.ts'
import type { World } from './world.ts'

/** The results of a soak before its final checks. */
export interface Soaked {
  readonly world: World
  readonly actors: Actors
  readonly rate: number
  /** Resources of the last gateway, after the warm-up and after the load. */
  readonly start: Level
  readonly end: Level
  /** Samples of the last gateway. */
  readonly samples: readonly Sample[]
  readonly seriesAtStart: number
  readonly held: number
  /** Moves all clients to the current address of the gateway, with new connections. */
  connect(): Promise<void>
  disconnect(): Promise<void>
}

/** Slow, until what is compiled on first use is compiled, and the cost of a request can be told. */
const SLOW_PER_SECOND = 40

const ROLL_EVERY_MS = 20_000

/** The load, in one life of the gateway or two. `stop` cuts it short. */
export async function soak(options: Options, scene: Scene, stop: AbortSignal): Promise<Soaked> {
  const random = createRandom(options.seed)
  let client: HttpClient = createClient(await scene.start())
  let life = 1
  let isUp = true
  const people = await makePeople(client)
  const world: World = {
    options,
    get client() {
      return client
    },
    ...people,
    chance: random,
    tally: createTally(),
    stored: createStoredLedger(),
    nonce: createNonces(options.seed),
    life: () => life,
  }
  const actors = makeActors(world, people, scene.gateway())
  let rate = options.rate
  let held = 0

  const wait = (seconds: number) => delay(seconds * 1000, undefined, { signal: stop }).catch(() => undefined)
  const begin = (perSecond: number) =>
    startLoad(world, KINDS, actors.all, () => (isUp ? scene.gateway() : undefined), perSecond)

  async function disconnect(): Promise<void> {
    await client.close()
    for (const actor of actors.all) await actor.close()
  }

  async function connect(): Promise<void> {
    client = createClient(scene.gateway())
    for (const actor of actors.all) await actor.settle(scene.gateway())
  }

  async function endLoad(load: Load): Promise<void> {
    await load.stop()
    held += load.held()
    await disconnect()
  }

  /** Fills every cache under the load to come, and measures what is there when it is quiet again. */
  async function warmUp(): Promise<Level> {
    const seconds = options.warmUp
    const load = begin(rate ?? SLOW_PER_SECOND)
    await wait(seconds * 0.3)
    const tell = startCosting(scene, load)
    await wait(seconds * 0.3)
    const cost = tell()
    rate ??= rateFor(cost, options.workers)
    const { gateway, providers, soak, free } = cost
    const [of, all] = [gateway, gateway + providers + soak].map((each) => (each * 1000).toFixed(2))
    say(
      `a request costs ${of} ms of processor time in the gateway and ${all} ms in all, ${free.toFixed(1)} processors are free: ${rate} requests per second`,
    )
    load.setRate(rate)
    await wait(seconds * 0.4)
    await endLoad(load)
    return measureLevel(scene, options.quiet)
  }

  async function killAndStart(): Promise<void> {
    isUp = false
    await scene.gateway().kill()
    await scene.start()
    await client.close()
    client = createClient(scene.gateway())
    life++
    isUp = true
  }

  /**
   * The load, up to a kill where there is one; `andKill` leaves the gateway started again and nothing
   * running.
   */
  async function run(seconds: number, andKill: boolean): Promise<readonly Sample[]> {
    await connect()
    const load = begin(rate ?? SLOW_PER_SECOND)
    const sampler = startSampler(scene, load, world.tally, seconds, printSample)
    const rolling = options.sighup
      ? setInterval(() => scene.gateway().signal('SIGHUP'), ROLL_EVERY_MS)
      : undefined
    printHead()
    await wait(seconds)
    await sampler.stop()
    clearInterval(rolling)
    if (andKill && !stop.aborted) {
      say('the gateway is killed and started again')
      await killAndStart()
      // Everybody finds their place again, and what was not answered is looked for.
      await wait(5)
    }
    await endLoad(load)
    return sampler.samples
  }

  const parts = options.kill ? 2 : 1
  let start = await warmUp()
  if (options.kill) {
    await run(options.seconds / parts, true)
    await connect()
    start = await warmUp()
  }
  const seriesAtStart = actors.scraper.series()
  const samples = await run(options.seconds / parts, false)
  const end = await measureLevel(scene, options.quiet)
  return { world, actors, rate: rate ?? 0, start, end, samples, seriesAtStart, held, connect, disconnect }
}
