import { setTimeout } from 'node:timers/promises'
import { type BenchGateway, startGateway } from './gateway.ts'
import { median } from './median.ts'

export interface StartUp {
  /** From the start of the process to the line that says it is ready; medians, as all here. */
  readonly readyMs: number
  /** Resident, half a second later. */
  readonly startedMegabytes: number
  readonly starts: number
  /**
   * Resident of one that nobody has asked anything since; undefined when the run was too short for it to come
   * to rest.
   */
  readonly idleMegabytes: number | undefined
}

/** After about a minute without work V8 gives back what the start needed. */
const REST_MS = 100_000

/**
 * Starts the gateway on empty data folders, one after the other. The last is left alone, and told of when the
 * run is over.
 */
export async function measureStartUp(starts: number, folder: string): Promise<() => Promise<StartUp>> {
  const seen: { readyMs: number; megabytes: number }[] = []
  let last: BenchGateway['process'] | undefined
  for (let start = 0; start < starts; start++) {
    await last?.stop()
    last = (await startGateway({ folder, name: `start-${start}`, upstream: 'http://127.0.0.1:9' })).process
    await setTimeout(500)
    seen.push({ readyMs: last.startMs, megabytes: last.memory().now })
  }
  const leftAt = performance.now()
  return async () => {
    const idleMegabytes = performance.now() - leftAt < REST_MS ? undefined : last?.memory().now
    await last?.stop()
    return {
      readyMs: median(seen.map(({ readyMs }) => readyMs)),
      startedMegabytes: median(seen.map(({ megabytes }) => megabytes)),
      starts,
      idleMegabytes,
    }
  }
}
