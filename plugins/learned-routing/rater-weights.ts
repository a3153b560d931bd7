/** No user has more of the whole weight than this, or than an equal share among fewer users. */
const MAX_SHARE = 0.25

/** The ratings of one user that count in full however few there are of others. */
const UNCAPPED_RATINGS = 100

interface Rated {
  readonly user?: string | number | null | undefined
}

/**
 * Returns the weight of each rating, so that no user steers the routing of the others alone. Ratings without
 * a user, which operators imported, weigh 1. See docs/decisions/learned-routing.md, "The weight of a user is
 * capped".
 */
export function weighRatings(ratings: readonly Rated[]): Float64Array {
  const counts = countByRater(ratings)
  const imported = ratings.length - [...counts.values()].reduce((sum, count) => sum + count, 0)
  const cap = findCap([...counts.values()], imported)
  return Float64Array.from(ratings, ({ user }) => {
    const count = user == null ? 0 : (counts.get(user) ?? 0)
    return count > cap ? cap / count : 1
  })
}

function countByRater(ratings: readonly Rated[]): ReadonlyMap<string | number, number> {
  const counts = new Map<string | number, number>()
  for (const { user } of ratings) if (user != null) counts.set(user, (counts.get(user) ?? 0) + 1)
  return counts
}

/** The largest weight of a user with which nobody exceeds the share. */
function findCap(counts: readonly number[], imported: number): number {
  const share = Math.max(MAX_SHARE, 1 / Math.max(1, counts.length + (imported > 0 ? 1 : 0)))
  if (share === 1) return Number.POSITIVE_INFINITY
  const ascending = counts.toSorted((a, b) => a - b)
  let cap = 0
  let below = imported
  // With the cap between two counts, `below` is the weight of users under it, and the others weigh the cap.
  for (const [index, count] of ascending.entries()) {
    const above = ascending.length - index
    if (above * share < 1) {
      cap = (share * below) / (1 - above * share)
      if (cap <= count) break
    }
    cap = count
    below += count
  }
  return Math.max(UNCAPPED_RATINGS, cap)
}
