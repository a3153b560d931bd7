/** The reasoning efforts of all providers, lowest first. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** Returns the lowest supported effort from the requested one on, else the highest; undefined without any. */
export function findNearestEffort(requested: string, supported: readonly string[]): string | undefined {
  const rank = EFFORTS.indexOf(requested)
  return supported.find((effort) => EFFORTS.indexOf(effort) >= rank) ?? supported.at(-1)
}
