import type { Case } from './case.ts'
import type { Load } from './load.ts'
import { median } from './median.ts'

/** What one cell came to in one round; as a result, the median of each figure. */
export interface Figures extends Load {
  /** Processor time of the server's process per request, in microseconds. */
  readonly cpuMicros: number
  /** How busy that process was: 1 is one core. Far below that, something else was the limit. */
  readonly busy: number
}

export interface CaseResult {
  readonly id: string
  readonly title: string
  readonly base: string
  readonly figures: Readonly<Record<string, Figures>>
  /** Against the base of the case in the same round: the median of the rounds. */
  readonly ratios: Readonly<Record<string, Ratios>>
}

interface Ratios {
  /** Requests per second. */
  readonly rate: number
  /** Requests per second of processor time. */
  readonly perCpuSecond: number
}

/** Takes the figures of every round by label. */
export function summarize(one: Case, rounds: ReadonlyMap<string, readonly Figures[]>): CaseResult {
  const { id, title, base } = one
  const bases = rounds.get(base) ?? []
  const against = (seen: readonly Figures[], ratio: (here: Figures, there: Figures) => number) =>
    median(
      seen.flatMap((here, round) => {
        const there = bases[round]
        return there === undefined ? [] : [ratio(here, there)]
      }),
    )
  const entries = [...rounds]
  return {
    id,
    title,
    base,
    figures: Object.fromEntries(entries.map(([label, seen]) => [label, medians(seen)])),
    ratios: Object.fromEntries(
      entries
        .filter(([label]) => label !== base && label !== 'a' && bases.length > 0)
        .map(([label, seen]) => [
          label,
          {
            rate: against(seen, (here, there) => here.perSecond / there.perSecond),
            perCpuSecond: against(seen, (here, there) => there.cpuMicros / here.cpuMicros),
          },
        ]),
    ),
  }
}

function medians(seen: readonly Figures[]): Figures {
  const of = (name: keyof Figures) => median(seen.map((figures) => figures[name]))
  return {
    requests: of('requests'),
    failures: seen.reduce((sum, { failures }) => sum + failures, 0),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p95: of('p95'),
    p99: of('p99'),
    first50: of('first50'),
    first99: of('first99'),
    loadBusy: of('loadBusy'),
    cpuMicros: of('cpuMicros'),
    busy: of('busy'),
  }
}
