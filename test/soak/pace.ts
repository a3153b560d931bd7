import { readFileSync } from 'node:fs'
import os from 'node:os'
import type { Load } from './load.ts'
import type { Scene } from './scene.ts'
import { measureTree } from './servers/process-tree.ts'

/**
 * Share of the available CPU time to use: enough for real load, and little enough that requests do not queue.
 */
const SHARE = 0.62

/**
 * At most two CPUs are used, since the single load generator could not use more.
 */
const MAX_PROCESSORS = 2

const MAX_PER_SECOND = 2000

/** CPU time per request, of the gateway and in total. */
export interface Cost {
  readonly gateway: number
  readonly providers: number
  readonly soak: number
  /** CPUs that other programs did not use. */
  readonly free: number
}

/** Records the current CPU times. The returned function computes the CPU time per request since then. */
export function startCosting(scene: Scene, load: Load): () => Cost {
  const read = () => ({
    sent: load.sent(),
    gateway: measureTree(scene.gateway().pid).cpuSeconds,
    providers: measureTree(scene.providers.pid).cpuSeconds,
    soak: process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
    idle: readIdle(),
    at: performance.now() / 1000,
  })
  const before = read()
  return () => {
    const now = read()
    const used = (name: keyof typeof now) => now[name] - before[name]
    const each = (name: keyof typeof now) => used(name) / Math.max(1, used('sent'))
    const free = (used('idle') + used('gateway') + used('providers') + used('soak')) / used('at')
    return { gateway: each('gateway'), providers: each('providers'), soak: each('soak'), free }
  }
}

/** Returns the idle time of all CPUs, in seconds. */
function readIdle(): number {
  return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/)[4]) / 100
}

/**
 * Returns the rate at which neither a single process nor all of them exceed their share of the CPUs.
 */
export function rateFor({ gateway, providers, soak, free }: Cost, workers: number): number {
  const processors = Math.min(MAX_PROCESSORS, os.availableParallelism(), free)
  const rates = [processors / (gateway + providers + soak), workers / gateway, 1 / providers, 1 / soak]
  return Math.max(10, Math.min(MAX_PER_SECOND, Math.floor(SHARE * Math.min(...rates))))
}
