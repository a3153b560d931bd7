import { setTimeout as delay } from 'node:timers/promises'
import { openInspector } from '../support/heap.ts'

/** Megabytes in use, over all processes that were asked. */
export interface HeapLevel {
  readonly processes: number
  readonly usedMb: number
  /** Buffers and the like, which the collector only knows the holders of. */
  readonly externalMb: number
}

/** What is left of one collection may be let go of by the next: finalizers run in between. */
const ROUNDS = 4
const BETWEEN_MS = 150

/** Has every process collect its garbage, and adds up what is in use then. Inspectors whose process has ended are passed over. */
export async function weighHeaps(inspectors: readonly string[], rounds = ROUNDS): Promise<HeapLevel> {
  const found = await Promise.all(inspectors.map((url) => weigh(url, rounds).catch(() => undefined)))
  const levels = found.filter((level) => level !== undefined)
  return {
    processes: levels.length,
    usedMb: levels.reduce((total, { usedMb }) => total + usedMb, 0),
    externalMb: levels.reduce((total, { externalMb }) => total + externalMb, 0),
  }
}

async function weigh(url: string, rounds: number): Promise<HeapLevel> {
  const inspector = await openInspector(url)
  try {
    for (let round = 0; round < rounds; round++) {
      if (round > 0) await delay(BETWEEN_MS)
      await inspector.collectGarbage()
    }
    const text = await inspector.evaluate<string>('JSON.stringify(process.memoryUsage())')
    const { heapUsed, external } = JSON.parse(text)
    return { processes: 1, usedMb: heapUsed / 2 ** 20, externalMb: external / 2 ** 20 }
  } finally {
    inspector.close()
  }
}
