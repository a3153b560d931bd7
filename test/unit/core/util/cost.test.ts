import { expect } from 'chai'
import { costOf } from '../../../../core/util/cost.ts'

const price = { input: 2, cached: 0.5, cache_write: 2.5, output: 10 }

describe('costOf', () => {
  it('multiplies input and output by their prices per million tokens', () => {
    expect(costOf({ price }, { input: 1_000_000, output: 100_000 })).to.be.closeTo(3, 1e-12)
  })

  it('subtracts cached input and cache writes from the input', () => {
    const usage = { input: 1000, cached: 600, cacheWrite: 300, output: 0 }
    expect(costOf({ price }, usage)).to.be.closeTo((100 * 2 + 600 * 0.5 + 300 * 2.5) / 1e6, 1e-15)
  })

  it('charges cached input and cache writes as input if they have no price', () => {
    const usage = { input: 1000, cached: 600, cacheWrite: 300, output: 0 }
    expect(costOf({ price: { input: 2, output: 10 } }, usage)).to.be.closeTo(0.002, 1e-15)
  })

  it('does not charge reasoning tokens in addition to output tokens', () => {
    const usage = { input: 0, output: 1000 }
    expect(costOf({ price }, { ...usage, reasoning: 900 })).to.equal(costOf({ price }, usage))
  })

  it('is a multiple of the usual price in a faster tier', () => {
    const usage = { input: 1000, cached: 600, output: 500 }
    expect(costOf({ price }, { ...usage, priceFactor: 6 })).to.equal(6 * costOf({ price }, usage))
  })

  it('is twice the price of input for what is cached for an hour', () => {
    const usage = { input: 1000, cacheWrite: 900, cacheWriteHour: 500, output: 0 }
    expect(costOf({ price }, usage)).to.be.closeTo((100 * 2 + 400 * 2.5 + 500 * 4) / 1e6, 1e-15)
  })

  it('is 0 without usage', () => {
    expect(costOf({ price }, { input: 0, output: 0 })).to.equal(0)
  })

  describe('with a price tier', () => {
    const tiered = { price: { ...price, above: { input_tokens: 1000, input: 4, cached: 1, output: 15 } } }

    it('uses the base prices up to the limit', () => {
      expect(costOf(tiered, { input: 1000, output: 10 })).to.equal(
        costOf({ price }, { input: 1000, output: 10 }),
      )
    })

    it("uses the tier's prices for the whole request above the limit, which includes cached input", () => {
      const usage = { input: 1001, cached: 1000, output: 100 }
      expect(costOf(tiered, usage)).to.be.closeTo((1 * 4 + 1000 * 1 + 100 * 15) / 1e6, 1e-15)
    })

    it('inherits no prices from the base', () => {
      const usage = { input: 2000, cacheWrite: 1000, output: 0 }
      expect(costOf(tiered, usage)).to.be.closeTo((2000 * 4) / 1e6, 1e-15)
    })
  })
})
