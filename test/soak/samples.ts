import type { Load } from './load.ts'
import { heapOf, weighHeaps } from './measure-heap.ts'
import type { Scene } from './scene.ts'
import { measureTree } from './servers/process-tree.ts'
import type { Tally } from './tally.ts'

/** The state at one point in time. */
export interface Sample {
  readonly seconds: number
  readonly perSecond: number
  readonly inFlight: number
  readonly failures: number
  /** Latencies of plain requests. */
  readonly p50: number
  readonly p99: number
  readonly processes: number
  readonly fds: number
  readonly rssMb: number
  /** CPU usage of the gateway, the providers and the load generator; 1 is one core. */
  readonly cpu: readonly [gateway: number, providers: number, soak: number]
  /** Memory in use after a garbage collection; measured only occasionally. */
  readonly heapMb: number | undefined
}

export interface Sampler {
  readonly samples: readonly Sample[]
  stop(): Promise<void>
}

const EVERY_MS = 5000

/** Garbage collections are rare, because each one pauses the gateway. */
const WEIGH_EVERY = { most: 60, parts: 10 }

/** Samples the gateway every few seconds. `seconds` is the duration of the load. */
export function startSampler(
  scene: Scene,
  load: Load,
  tally: Tally,
  seconds: number,
  show: (sample: Sample) => void,
): Sampler {
  const begun = performance.now()
  const weighEvery = Math.min(WEIGH_EVERY.most, seconds / WEIGH_EVERY.parts)
  const samples: Sample[] = []
  let before = read()
  let weighed = 0
  let running: Promise<void> | undefined

  function read() {
    const gateway = measureTree(scene.gateway().pid)
    const providers = measureTree(scene.providers.pid).cpuSeconds
    const { user, system } = process.cpuUsage()
    return {
      at: performance.now(),
      sent: load.sent(),
      gateway,
      cpu: [gateway.cpuSeconds, providers, (user + system) / 1e6],
    }
  }

  async function take(): Promise<void> {
    const now = read()
    const elapsed = (now.at - before.at) / 1000
    const seconds = (now.at - begun) / 1000
    const isTime = seconds - weighed >= weighEvery
    await scene.log.read()
    if (isTime) weighed = seconds
    const level = isTime ? await weighHeaps(scene.log.inspectors(), 1) : undefined
    const times = [...load.takeTimes()].sort((a, b) => a - b)
    const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
    const [gateway = 0, providers = 0, soak = 0] = now.cpu.map(
      (used, n) => (used - (before.cpu[n] ?? 0)) / elapsed,
    )
    const { processes, fds, rssMb } = now.gateway
    const sample: Sample = {
      seconds,
      perSecond: (now.sent - before.sent) / elapsed,
      inFlight: load.inFlight(),
      failures: tally.failureCount(),
      p50: at(0.5),
      p99: at(0.99),
      processes,
      fds,
      rssMb,
      cpu: [gateway, providers, soak],
      heapMb: level && heapOf(level),
    }
    before = now
    samples.push(sample)
    show(sample)
  }

  const timer = setInterval(() => {
    running ??= take().finally(() => {
      running = undefined
    })
  }, EVERY_MS)

  return {
    samples,
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

/**
 * Returns the growth of the heap in megabytes per hour, by linear regression; undefined if there are too few
 * samples.
 */
export function slopeOf(samples: readonly Sample[]): number | undefined {
  const points = samples.flatMap(({ seconds, heapMb }) =>
    heapMb === undefined ? [] : [{ x: seconds / 3600, y: heapMb }],
  )
  if (points.length < 3) return undefined
  const mean = (read: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + read(point), 0) / points.length
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)]
  return mean((point) => (point.x - x) * (point.y - y)) / mean((point) => (point.x - x) ** 2)
}
