import { expect } from 'chai'
import { capRaters } from '../../../../plugins/learned-routing/ratings.ts'

/** Returns the weight of each rater together. */
function weighRaters(
  counts: Readonly<Record<string, number>>,
  floor = 100,
): Readonly<Record<string, number>> {
  const raters = Object.entries(counts).flatMap(([user, count]) => Array.from({ length: count }, () => user))
  const sums: Record<string, number> = {}
  const caps = [{ partOf: () => 0, floor }]
  for (const [at, weight] of capRaters(raters, new Float64Array(raters.length).fill(1), caps).entries()) {
    const name = raters[at] as string
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
    // Of six raters, 1.25 equal shares.
    expect(two).to.deep.equal({ a: 214, b: 214, c: 150, d: 150, e: 150, f: 150 })
  })

  it('is the same for few raters, but a hundred ratings count in full', () => {
    expect(weighRaters({ a: 1000, b: 400 })).to.deep.equal({ a: 400, b: 400 })
    expect(weighRaters({ a: 1000, b: 3 })).to.deep.equal({ a: 100, b: 3 })
    expect(weighRaters({ a: 90, b: 3, c: 2, d: 1, e: 1 })).to.deep.equal({ a: 90, b: 3, c: 2, d: 1, e: 1 })
  })

  it('is not capped for a single rater', () => {
    expect(weighRaters({ a: 1000 })).to.deep.equal({ a: 1000 })
    expect(capRaters([], new Float64Array(0), [])).to.have.length(0)
  })

  it('is that of the others without a floor, and nothing where no three others rate', () => {
    expect(weighRaters({ a: 900, b: 30, c: 30, d: 2 }, 0)).to.deep.equal({ a: 2, b: 2, c: 2, d: 2 })
    const raters = ['a', 'a', 'a', 'b', 'c', 'd']
    const caps = [{ partOf: (at: number) => (at < 3 ? 'own' : 'shared'), floor: 0 }]
    expect([...capRaters(raters, new Float64Array(6).fill(1), caps)]).to.deep.equal([0, 0, 0, 0, 0, 0])
  })

  it('is capped in each part, and exactly in the last one', () => {
    const raters = Array.from({ length: 400 }, (_, at) => (at < 200 ? 'flood' : `user ${at % 8}`))
    const partOf = (at: number) => (at < 100 || at >= 360 ? 'topic' : 'rest')
    const caps = [
      { partOf, floor: 5 },
      { partOf: () => 0, floor: 0 },
    ]
    const weights = capRaters(raters, new Float64Array(400).fill(1), caps)
    const sumOf = (isCounted: (at: number) => boolean) =>
      weights.reduce((sum, weight, at) => sum + (isCounted(at) ? weight : 0), 0)
    const flood = (at: number) => raters[at] === 'flood'
    expect(sumOf(flood) / sumOf(() => true)).to.be.closeTo(1.25 / 9, 0.001)
    const ofTopic = sumOf((at) => flood(at) && partOf(at) === 'topic') / sumOf((at) => partOf(at) === 'topic')
    expect(ofTopic).to.be.within(0.12, 0.15)
  })
})
