import type { LogWatch } from '../log-watch.ts'
import type { Tally } from '../tally.ts'
import { type Check, fewOf } from './check.ts'

/**
 * Every logged error belongs to a request that asked for a fault, and every line has the format of the log.
 */
export function checkLog({ odd, counts }: LogWatch, tally: Tally): Check {
  const unexplained = odd.filter(({ requestId }) => requestId === undefined || !tally.isExplained(requestId))
  return {
    name: 'errors in the log were injected',
    found: `${counts.get('info') ?? 0} lines, ${odd.length - unexplained.length} errors that were injected`,
    faults: fewOf(countAlike(unexplained.map(({ text }) => text))),
  }
}

/** Groups equal texts, ignoring process ids and request ids, and counts them. */
function countAlike(texts: readonly string[]): readonly string[] {
  const counts = new Map<string, { count: number; text: string }>()
  for (const text of texts) {
    const name = text.replaceAll(/node:\d+|req_\w+|"time":"[^"]+"/g, '')
    const known = counts.get(name) ?? { count: 0, text }
    counts.set(name, { ...known, count: known.count + 1 })
  }
  return [...counts.values()].map(({ count, text }) => `${count} x ${text}`)
}
