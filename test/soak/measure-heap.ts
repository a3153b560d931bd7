import { setTimeout as delay } from 'node:timers/promises'
import { type Inspection, openInspector } from '../support/heap.ts'

/** Memory in use over all processes, in megabytes. */
export interface HeapLevel {
  readonly processes: number
  /** Heap of the main threads. */
  readonly usedMb: number
  /** Heap of the other threads: event log and pattern workers. */
  readonly threadsMb: number
  /** Number of the other threads. */
  readonly threads: number
  /** Memory outside the heap, such as buffers. */
  readonly externalMb: number
}

export const heapOf = ({ usedMb, threadsMb, externalMb }: HeapLevel) => usedMb + threadsMb + externalMb

/** Finalizers run between collections, so one collection may not free everything. */
const ROUNDS = 4
const BETWEEN_MS = 150

/**
 * Collects garbage in every thread and sums the memory in use. Inspectors of processes that have ended are
 * ignored.
 */
export async function weighHeaps(inspectors: readonly string[], rounds = ROUNDS): Promise<HeapLevel> {
  const found = await Promise.all(inspectors.map((url) => weigh(url, rounds).catch(() => undefined)))
  const levels = found.filter((level) => level !== undefined)
  const sum = (name: keyof HeapLevel) => levels.reduce((total, level) => total + level[name], 0)
  return {
    processes: sum('processes'),
    usedMb: sum('usedMb'),
    threadsMb: sum('threadsMb'),
    threads: sum('threads'),
    externalMb: sum('externalMb'),
  }
}

async function weigh(url: string, rounds: number): Promise<HeapLevel> {
  const inspector = await openInspector(url)
  try {
    const threads = await inspector.threads()
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await delay(BETWEEN_MS)
      for (const thread of [inspector, ...threads]) await thread.collectGarbage()
    }
    const main = await readMemory(inspector)
    let threadsMb = 0
    for (const thread of threads) threadsMb += (await readMemory(thread)).heapUsed / 2 ** 20
    const { heapUsed, external } = main
    const usedMb = heapUsed / 2 ** 20
    return { processes: 1, usedMb, threadsMb, threads: threads.length, externalMb: external / 2 ** 20 }
  } finally {
    inspector.close()
  }
}

async function readMemory(thread: Inspection): Promise<NodeJS.MemoryUsage> {
  return JSON.parse(await thread.evaluate<string>('JSON.stringify(process.memoryUsage())'))
}
