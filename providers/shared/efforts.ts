/** The reasoning efforts of all providers, lowest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/**
 * Returns the requested effort if it is among the supported ones, which are sorted, or the next higher one,
 * or else the highest; with `lower`, the next lower one, or else the lowest. Undefined if none is supported.
 */
export function findNearestEffort(
  requested: string,
  supported: readonly string[],
  side: 'higher' | 'lower' = 'higher',
): string | undefined {
  const rank = EFFORTS.indexOf(requested)
  if (side === 'lower') return supported.findLast((effort) => EFFORTS.indexOf(effort) <= rank) ?? supported[0]
  return supported.find((effort) => EFFORTS.indexOf(effort) >= rank) ?? supported.at(-1)
}
