/** A user, or a source of imports. */
export type Rater = string | number

/** A verdict rests on at least so many raters, and on none of them for more than an equal share of these. */
export const MIN_RATERS = 4

/** Where many rate, nobody has much more than an equal share, but not less than the second of these. */
const EQUAL_SHARES = 1.25
const MIN_SHARE = 0.05

function maxShare(raters: number): number {
  if (raters < MIN_RATERS) return 1 / Math.max(1, raters)
  return Math.max(MIN_SHARE, Math.min(1 / MIN_RATERS, EQUAL_SHARES / raters))
}

/** How often all caps are applied: a cap of one part changes the shares in others. */
const ROUNDS = 4

/** Ways to divide ratings into parts, in each of which no rater has more than a share of the weight. */
export interface RaterCap {
  /** The part of the rating at an index. */
  partOf(at: number): string | number
  /** What a rater always has in a part, however little others have in it. */
  readonly floor: number
}

/**
 * Returns the weights of ratings, so that no rater has more of the weight of a part than 1.25 equal shares,
 * or a twentieth, and never more than a quarter. Fewer than four raters have equal shares. The last cap holds
 * exactly. See docs/decisions/learned-routing.md, "The weight of a rater is capped".
 */
export function capRaters(
  raters: readonly Rater[],
  sizes: Float64Array,
  caps: readonly RaterCap[],
): Float64Array {
  const weights = sizes.slice()
  const share = maxShare(new Set(raters).size)
  if (share === 1) return weights
  for (let round = 0; round < ROUNDS; round++) for (const cap of caps) applyCap(weights, raters, share, cap)
  return weights
}

function applyCap(
  weights: Float64Array,
  raters: readonly Rater[],
  share: number,
  { partOf, floor }: RaterCap,
): void {
  const parts = new Map<string | number, Map<Rater, number>>()
  for (const [at, rater] of raters.entries()) {
    const sums = parts.get(partOf(at)) ?? new Map<Rater, number>()
    if (sums.size === 0) parts.set(partOf(at), sums)
    sums.set(rater, (sums.get(rater) ?? 0) + (weights[at] as number))
  }
  const caps = new Map(
    [...parts].map(([part, sums]) => [part, Math.max(floor, findCap([...sums.values()], share))]),
  )
  for (const [at, rater] of raters.entries()) {
    const sum = parts.get(partOf(at))?.get(rater) as number
    const cap = caps.get(partOf(at)) as number
    if (sum > cap) weights[at] = ((weights[at] as number) * cap) / sum
  }
}

/** The largest weight of a rater with which nobody exceeds the share. 0 for too few raters. */
function findCap(sums: readonly number[], share: number): number {
  const ascending = sums.toSorted((a, b) => a - b)
  let cap = 0
  let below = 0
  // With the cap between two sums, `below` is the weight of raters under it, and the others weigh the cap.
  for (const [index, sum] of ascending.entries()) {
    const above = ascending.length - index
    if (above * share < 1 - 1e-9) {
      cap = (share * below) / (1 - above * share)
      if (cap <= sum) break
    }
    cap = sum
    below += sum
  }
  return ascending.length * share < 1 - 1e-9 ? 0 : cap
}
