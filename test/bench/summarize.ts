import type { Case } from './case.ts'
import type { Load } from './load.ts'
import { median } from './median.ts'

/** The figures of a cell in one round, or the medians of all rounds. */
export interface Figures extends Load {
  /** CPU time of the server's process per request, in microseconds. */
  readonly cpuMicros: number
  /** The same of the main threads only. */
  readonly mainMicros: number
  /** CPU usage of that process; 1 is one core. Well below 1, something else was the bottleneck. */
  readonly busy: number
}

export interface CaseResult {
  readonly id: string
  readonly title: string
  readonly base: string
  readonly figures: Readonly<Record<string, Figures>>
  /** Ratios to the baseline in the same round: medians of all rounds. */
  readonly ratios: Readonly<Record<string, Ratios>>
}

interface Ratios {
  /** Requests per second. */
  readonly rate: number
  /** Requests per second of CPU time. */
  readonly perCpuSecond: number
  /** Requests per second of CPU time of the main threads. */
  readonly perMainSecond: number
}

/** Summarizes the figures of all rounds by label. */
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
            perMainSecond: against(seen, (here, there) => there.mainMicros / here.mainMicros),
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
    mainMicros: of('mainMicros'),
    busy: of('busy'),
  }
}
