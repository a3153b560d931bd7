import type { LogWatch } from '../log-watch.ts'
import type { Tally } from '../tally.ts'
import { type Check, fewOf } from './check.ts'

/**
 * Every error in the log is about a request for which it was asked; nothing was written that is no line of
 * the log.
 */
export function checkLog({ odd, counts }: LogWatch, tally: Tally): Check {
  const unexplained = odd.filter(({ requestId }) => requestId === undefined || !tally.isExplained(requestId))
  return {
    name: 'errors in the log were injected',
    found: `${counts.get('info') ?? 0} lines, ${odd.length - unexplained.length} errors that were injected`,
    faults: fewOf(countAlike(unexplained.map(({ text }) => text))),
  }
}

/** Each text once, with how often it was there; process ids and request ids do not count. */
function countAlike(texts: readonly string[]): readonly string[] {
  const counts = new Map<string, { count: number; text: string }>()
  for (const text of texts) {
    const name = text.replaceAll(/node:\d+|req_\w+|"time":"[^"]+"/g, '')
    const known = counts.get(name) ?? { count: 0, text }
    counts.set(name, { ...known, count: known.count + 1 })
  }
  return [...counts.values()].map(({ count, text }) => `${count} x ${text}`)
}
