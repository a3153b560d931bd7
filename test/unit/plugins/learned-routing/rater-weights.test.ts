import { expect } from 'chai'
import { weighRatings } from '../../../../plugins/learned-routing/rater-weights.ts'

/** Returns the weight of each rater together. */
function weighRaters(
  counts: Readonly<Record<string, number>>,
  imported = 0,
): Readonly<Record<string, number>> {
  const ratings = [
    ...Object.entries(counts).flatMap(([user, count]) => Array.from({ length: count }, () => ({ user }))),
    ...Array.from({ length: imported }, () => ({ user: undefined })),
  ]
  const sums: Record<string, number> = {}
  for (const [at, weight] of weighRatings(ratings).entries()) {
    const name = ratings[at]?.user ?? 'import'
    sums[name] = (sums[name] ?? 0) + weight
  }
  return Object.fromEntries(Object.entries(sums).map(([user, sum]) => [user, Math.round(sum)]))
}

describe('the weight of raters', () => {
  it('is the number of their ratings, where nobody has more than a quarter', () => {
    const counts = { a: 250, b: 200, c: 250, d: 150, e: 150 }
    expect(weighRaters(counts)).to.deep.equal(counts)
  })

  it('is at most a quarter of the whole', () => {
    const weights = weighRaters({ a: 9000, b: 300, c: 300, d: 200, e: 200 })
    expect(weights).to.deep.equal({ a: 333, b: 300, c: 300, d: 200, e: 200 })
    const two = weighRaters({ a: 5000, b: 5000, c: 150, d: 150, e: 150, f: 150 })
    expect(two).to.deep.equal({ a: 300, b: 300, c: 150, d: 150, e: 150, f: 150 })
  })

  it('is the same for few raters, but a hundred ratings count in full', () => {
    expect(weighRaters({ a: 1000, b: 400 })).to.deep.equal({ a: 400, b: 400 })
    expect(weighRaters({ a: 1000, b: 3 })).to.deep.equal({ a: 100, b: 3 })
    expect(weighRaters({ a: 90, b: 3, c: 2, d: 1, e: 1 })).to.deep.equal({ a: 90, b: 3, c: 2, d: 1, e: 1 })
  })

  it('is not capped for a single rater, nor for imports', () => {
    expect(weighRaters({ a: 1000 })).to.deep.equal({ a: 1000 })
    expect(weighRaters({}, 1000)).to.deep.equal({ import: 1000 })
    expect(weighRaters({ a: 4000 }, 1000)).to.deep.equal({ a: 1000, import: 1000 })
    expect(weighRatings([])).to.have.length(0)
  })
})
