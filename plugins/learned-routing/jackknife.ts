import type { Interval } from './figures.ts'

/** Quantiles at 97.5 % of Student's t distribution, by degrees of freedom from 1. */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
]

/** Returns how many groups of the same size are as informative as groups of these sizes. */
export function effectiveCount(sizes: readonly number[]): number {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  return whole ** 2 / sizes.reduce((sum, size) => sum + size ** 2, 0)
}

/**
 * Estimates figures of future groups by the delete-one-group jackknife for groups of different sizes. Calls
 * `measure` without a group, then with each group left out. Returns, for each figure that it returns, the
 * value of all groups and the limits that the value of `future` other groups keeps to with 95 % (a prediction
 * interval by Student's t distribution). There must be two groups at least.
 */
export function predictFigures(
  sizes: readonly number[],
  future: number,
  measure: (leftOut?: number) => readonly number[],
): readonly Interval[] {
  const whole = sizes.reduce((sum, size) => sum + size, 0)
  const count = effectiveCount(sizes)
  const freedom = Math.min(Math.floor(count) - 1, T_QUANTILES.length)
  const quantile = T_QUANTILES[freedom - 1] ?? Number.POSITIVE_INFINITY
  const values = measure()
  const rest = sizes.map((_, group) => measure(group))
  return values.map((value, figure) => {
    const partOf = (group: number) => (rest[group] as readonly number[])[figure] as number
    const shares = sizes.map((size) => size / whole)
    const center = shares.reduce((sum, share, group) => sum + (value - (1 - share) * partOf(group)), 0)
    const variance = shares.reduce((sum, share, group) => {
      const pseudo = (value - (1 - share) * partOf(group)) / share
      return sum + ((pseudo - center) ** 2 * share) / (1 - share) / sizes.length
    }, 0)
    const margin = quantile * Math.sqrt(variance * (1 + count / future))
    return { value, low: value - margin, high: value + margin }
  })
}
