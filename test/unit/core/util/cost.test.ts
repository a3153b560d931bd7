import { expect } from 'chai'
import { costOf } from '../../../../core/util/cost.ts'

const price = { input: 2, cached: 0.5, cache_write: 2.5, output: 10 }

describe('the cost of a request', () => {
  it('is input and output at their prices per million tokens', () => {
    expect(costOf({ price }, { input: 1_000_000, output: 100_000 })).to.be.closeTo(3, 1e-12)
  })

  it('takes cached input and cache writes out of the input', () => {
    const usage = { input: 1000, cached: 600, cacheWrite: 300, output: 0 }
    expect(costOf({ price }, usage)).to.be.closeTo((100 * 2 + 600 * 0.5 + 300 * 2.5) / 1e6, 1e-15)
  })

  it('takes cached input and cache writes for input where they have no price', () => {
    const usage = { input: 1000, cached: 600, cacheWrite: 300, output: 0 }
    expect(costOf({ price: { input: 2, output: 10 } }, usage)).to.be.closeTo(0.002, 1e-15)
  })

  it('has reasoning in the output already', () => {
    const usage = { input: 0, output: 1000 }
    expect(costOf({ price }, { ...usage, reasoning: 900 })).to.equal(costOf({ price }, usage))
  })

  it('is nothing when nothing was used', () => {
    expect(costOf({ price }, { input: 0, output: 0 })).to.equal(0)
  })

  describe('with a tier', () => {
    const tiered = { price: { ...price, above: { input_tokens: 1000, input: 4, cached: 1, output: 15 } } }

    it('is at the usual prices up to its limit', () => {
      expect(costOf(tiered, { input: 1000, output: 10 })).to.equal(
        costOf({ price }, { input: 1000, output: 10 }),
      )
    })

    it("is at the tier's prices as a whole above it, cached input counted in", () => {
      const usage = { input: 1001, cached: 1000, output: 100 }
      expect(costOf(tiered, usage)).to.be.closeTo((1 * 4 + 1000 * 1 + 100 * 15) / 1e6, 1e-15)
    })

    it('takes nothing over from the usual prices', () => {
      const usage = { input: 2000, cacheWrite: 1000, output: 0 }
      expect(costOf(tiered, usage)).to.be.closeTo((2000 * 4) / 1e6, 1e-15)
    })
  })
})
