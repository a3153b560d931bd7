/**
 * Returns the parameters of `fc.assert`: the same inputs in each run of the suite, others with
 * `PROPERTY_SEED`. A failure says its seed and the smallest input that fails.
 */
export function inRounds(numRuns: number): { readonly numRuns: number; readonly seed: number } {
  return { numRuns, seed: Number(process.env.PROPERTY_SEED ?? 20_261_126) }
}
