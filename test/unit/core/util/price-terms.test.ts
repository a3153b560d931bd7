import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { askedPriceFactor, asksForHourCache } from '../../../../core/util/price-terms.ts'
import { toAnthropicUsage } from '../../../../providers/anthropic/reply.ts'

const request = (more: object): ChatRequest => ({ messages: [{ role: 'user', content: 'Hi' }], ...more })
const anthropic = (fields: object) => request({ extra_content: { anthropic: { fields } } })
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }

describe('the price of what a request asks for', () => {
  it('is a multiple in faster tiers and regions', () => {
    expect(askedPriceFactor(request({}))).to.deep.equal({})
    expect(askedPriceFactor(request({ service_tier: 'flex' }))).to.deep.equal({})
    expect(askedPriceFactor(request({ service_tier: 'priority' }))).to.deep.equal({ priceFactor: 2 })
    expect(askedPriceFactor(anthropic({ speed: 'fast' }))).to.deep.equal({ priceFactor: 6 })
    const { priceFactor } = askedPriceFactor(anthropic({ speed: 'fast', inference_geo: 'us' }))
    expect(priceFactor).to.be.closeTo(6.6, 1e-9)
  })

  it('includes caching for an hour, wherever it is asked for', () => {
    expect(asksForHourCache(request({}))).to.equal(false)
    const parts = [{ type: 'text', text: 'Hi', ...HOUR }]
    for (const more of [
      { messages: [{ role: 'system', content: parts }] },
      { tools: [{ type: 'function', function: { name: 'f' }, ...HOUR }] },
      { extra_content: { anthropic: { fields: HOUR } } },
      { messages: [{ role: 'user', content: 'Hi', extra_content: { anthropic: HOUR } }] },
    ])
      expect(asksForHourCache(request(more)), JSON.stringify(more)).to.equal(true)
  })

  it('is read from what Anthropic reports', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 4 }
    const reported = { input_tokens: 3, output_tokens: 2, cache_creation_input_tokens: 5, cache_creation }
    expect(toAnthropicUsage({ ...reported, speed: 'fast' })).to.deep.equal({
      input: 8,
      output: 2,
      cacheWrite: 5,
      cacheWriteHour: 4,
      priceFactor: 6,
    })
  })
})
