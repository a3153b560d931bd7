import { ask, CHAT } from './case.ts'
import { startGateway } from './gateway.ts'
import { load } from './load.ts'
import { median } from './median.ts'
import { benchFile, startProcess } from './processes.ts'
import { writePrompt } from './prompts.ts'
import { asText } from './tables.ts'

/** Resident memory in megabytes, by the number of requests served. */
export type MemoryLevels = readonly { readonly served: number; readonly megabytes: number }[]

const LEVELS = [50_000, 100_000, 200_000, 300_000, 400_000, 500_000]
/**
 * The number of requests over which a level is the median: memory rises and falls with each full garbage
 * collection.
 */
const WINDOW = 100_000
const SAMPLE_MS = 100
const MAX_MS = 15 * 60_000

/**
 * Records resident memory while half a million small requests are served with the rules of (d), for at most
 * 15 minutes.
 */
export async function measureMemory(folder: string, tell: (text: string) => void): Promise<MemoryLevels> {
  const upstream = await startProcess(benchFile('upstream.ts'))
  const { url, headers, process } = await startGateway({
    folder,
    name: 'memory',
    upstream: upstream.line,
    rules: 100,
  })
  const aim = { url: url + CHAT, headers, body: ask(writePrompt(400)) }
  const first = { served: 0, megabytes: process.memory().now }
  const seen: { served: number; megabytes: number }[] = []
  const begun = performance.now()
  let served = 0
  const sampling = setInterval(() => seen.push({ served, megabytes: process.memory().now }), SAMPLE_MS)
  while (served < Math.max(...LEVELS) + WINDOW && performance.now() - begun < MAX_MS) {
    const { requests, failures } = await load(aim, { connections: 64, seconds: 2 })
    if (failures > 0) throw new Error(`${failures} of ${requests} requests failed after ${served}.`)
    served += requests
    tell(`${served} requests`)
  }
  clearInterval(sampling)
  await Promise.all([process.stop(), upstream.stop()])
  const levels = LEVELS.filter((level) => level < served).map((level) => {
    const within = seen.filter((sample) => sample.served >= level && sample.served < level + WINDOW)
    return { served: level, megabytes: median(within.map(({ megabytes }) => megabytes)) }
  })
  return [first, ...levels]
}

/** Returns the relative growth from 50,000 requests to the last level. */
export function growthOf(levels: MemoryLevels): number {
  return (levels.at(-1)?.megabytes ?? 0) / (levels[1]?.megabytes ?? 1) - 1
}

export function describeMemory(levels: MemoryLevels): string {
  const rows = levels.map(({ served, megabytes }) => [String(served), megabytes.toFixed(0)])
  const percent = (growthOf(levels) * 100).toFixed(0)
  const grown = `growth from ${levels[1]?.served} requests to ${levels.at(-1)?.served}: ${percent} %`
  return `${asText([['requests served', 'MB resident'], ...rows])}  ${grown} (at most 15 %)\n`
}
