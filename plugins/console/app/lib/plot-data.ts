/** Values over time, one for each step. */
export interface PlotSeries {
  readonly name: string
  /** Class of the mark and of its legend: a color of the style sheet. */
  readonly tone: string
  readonly values: readonly (number | null)[]
}

/** Adds up series, so that each bar stands on those of the series before it. */
export function stackSeries(series: readonly PlotSeries[]): readonly (readonly number[])[] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0)
      return sums[index]
    }),
  )
}

/** More points than these are shown as dots only where no line leads to them. */
const MAX_DOTS = 24

/** Returns the indices of the values to show as dots: all of a sparse series, or those between two gaps. */
export function findDots(values: readonly (number | null | undefined)[]): readonly number[] {
  const known = values.flatMap((value, index) => (value == null ? [] : [index]))
  if (known.length <= MAX_DOTS) return known
  return known.filter((index) => values[index - 1] == null && values[index + 1] == null)
}

const STEP_NAMES: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
]

/** Such as "per hour" or "per 5 minutes". */
export function describeStep(stepMs: number): string {
  const [ms, name] = STEP_NAMES.find(([length]) => stepMs >= length) ?? [1000, 'second']
  const count = Math.round(stepMs / ms)
  return count === 1 ? `per ${name}` : `per ${count} ${name}s`
}
