import { readFileSync } from 'node:fs'
import os from 'node:os'
import type { Load } from './load.ts'
import type { Scene } from './scene.ts'
import { measureTree } from './servers/process-tree.ts'

/**
 * Of what the processors can bear beside the work of others: enough to matter, and little enough that nothing
 * waits for long.
 */
const SHARE = 0.62

/**
 * Two processors, for that is what the soak was made on: more would ask more of the one process that asks.
 */
const MOST_PROCESSORS = 2

const MOST_PER_SECOND = 2000

/** Processor time that one request costs, in the gateway and altogether. */
export interface Cost {
  readonly gateway: number
  readonly providers: number
  readonly soak: number
  /** Processors that nobody else used meanwhile. */
  readonly free: number
}

/** Notes processor times now; the result tells what a request has cost since. */
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

/** Seconds that all processors together had nothing to do. */
function readIdle(): number {
  return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/)[4]) / 100
}

/**
 * The rate at which no process, and not all of them together, need more than their share of the processors.
 */
export function rateFor({ gateway, providers, soak, free }: Cost, workers: number): number {
  const processors = Math.min(MOST_PROCESSORS, os.availableParallelism(), free)
  const rates = [processors / (gateway + providers + soak), workers / gateway, 1 / providers, 1 / soak]
  return Math.max(10, Math.min(MOST_PER_SECOND, Math.floor(SHARE * Math.min(...rates))))
}
