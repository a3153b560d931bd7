import { setTimeout } from 'node:timers/promises'
import { type BenchGateway, startGateway } from './gateway.ts'
import { median } from './median.ts'

export interface StartUp {
  /** Time from the start of the process to its ready line. All values are medians. */
  readonly readyMs: number
  /** Resident memory half a second later. */
  readonly startedMegabytes: number
  readonly starts: number
  /**
   * Resident memory of a process that received no requests; undefined if the run was too short for it to
   * settle.
   */
  readonly idleMegabytes: number | undefined
}

/** V8 releases the memory of the start after about a minute of idling. */
const REST_MS = 100_000

/**
 * Starts the gateway on empty data folders, one after another. The last one stays idle and is measured at the
 * end of the run.
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
