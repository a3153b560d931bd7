import { expect } from 'chai'
import { costOf, replyCost } from '../../../../core/prices/cost.ts'

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

describe('replyCost', () => {
  const usage = { input: 1000, output: 500 }
  const usual = costOf({ price }, usage)
  const terms = { tiers: { flex: 0.5, priority: 2 }, tool_fees: { web_search: 10, web_fetch: 0 } }
  const cost = (more: object, model = { price }) => replyCost(model, { ...usage, ...more }, terms)

  it('is that of the tier', () => {
    expect(cost({})).to.equal(usual)
    expect(cost({ tier: 'flex' })).to.equal(usual / 2)
    expect(cost({ tier: 'priority' })).to.equal(2 * usual)
    const model = { price: { ...price, tiers: { priority: 2.5 } } }
    expect(replyCost(model, { ...usage, tier: 'priority' }, terms)).to.equal(2.5 * usual)
  })

  it('includes the fees of tools', () => {
    const toolCalls = { web_search: 7, web_fetch: 3 }
    expect(cost({ toolCalls, tier: 'flex' })).to.be.closeTo(usual / 2 + 0.07, 1e-12)
  })

  it('is unknown without a price of the tier or the tool', () => {
    expect(cost({ tier: 'turbo' })).to.equal(undefined)
    expect(cost({ toolCalls: { magic: 1 } })).to.equal(undefined)
    expect(replyCost({ price }, { ...usage, tier: 'flex' })).to.equal(undefined)
  })

  it('is the most that an estimated usage may cost', () => {
    const bound = (more: object) => cost({ ...more, isEstimated: true })
    expect(bound({ tier: 'flex' })).to.equal(usual)
    expect(bound({ tier: 'auto' })).to.equal(2 * usual)
    expect(bound({ tier: 'turbo' })).to.equal(2.5 * usual)
    expect(bound({ toolCalls: { magic: 1, web_search: 1 } })).to.be.closeTo(usual + 0.01, 1e-12)
  })
})
