import { setTimeout } from 'node:timers/promises'
import { startGateway } from './gateway.ts'
import { median } from './median.ts'

export interface StartUp {
  /** From the start of the process to the line that says it is ready; medians, as all here. */
  readonly readyMs: number
  /** Resident, half a second later. */
  readonly idleMegabytes: number
  readonly starts: number
}

/** Starts the gateway on empty data folders, one after the other. */
export async function measureStartUp(starts: number, folder: string): Promise<StartUp> {
  const seen: { readyMs: number; idleMegabytes: number }[] = []
  for (let start = 0; start < starts; start++) {
    const { process } = await startGateway({ folder, name: `start-${start}`, upstream: 'http://127.0.0.1:9' })
    await setTimeout(500)
    seen.push({ readyMs: process.startMs, idleMegabytes: process.memory().now })
    await process.stop()
  }
  return {
    readyMs: median(seen.map(({ readyMs }) => readyMs)),
    idleMegabytes: median(seen.map(({ idleMegabytes }) => idleMegabytes)),
    starts,
  }
}
