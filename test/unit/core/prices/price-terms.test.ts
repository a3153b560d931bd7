import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { askedTerms, asksForHourCache, toToolCalls } from '../../../../core/prices/price-terms.ts'
import { toAnthropicUsage } from '../../../../providers/anthropic/reply.ts'

const request = (more: object): ChatRequest => ({ messages: [{ role: 'user', content: 'Hi' }], ...more })
const anthropic = (fields: object) => request({ extra_content: { anthropic: { fields } } })
const HOUR = { cache_control: { type: 'ephemeral', ttl: '1h' } }

describe('the price of what a request asks for', () => {
  it('is that of a tier, speed, region and searches', () => {
    expect(askedTerms(request({}))).to.deep.equal({})
    expect(askedTerms(request({ service_tier: 'default' }))).to.deep.equal({})
    for (const tier of ['flex', 'priority', 'auto'])
      expect(askedTerms(request({ service_tier: tier }))).to.deep.equal({ tier })
    expect(askedTerms(anthropic({ speed: 'fast' }))).to.deep.equal({ priceFactor: 6 })
    expect(askedTerms(anthropic({ service_tier: 'auto' }))).to.deep.equal({ tier: 'auto' })
    const { priceFactor } = askedTerms(anthropic({ speed: 'fast', inference_geo: 'us' }))
    expect(priceFactor).to.be.closeTo(6.6, 1e-9)
    const search = (tool: object) => ({ type: 'extra_content', extra_content: { anthropic: tool } })
    const tools = [search({ type: 'web_search_20250305', max_uses: 5 }), search({ type: 'bash_20250124' })]
    expect(askedTerms(request({ tools }))).to.deep.equal({ toolCalls: { web_search: 5 } })
    const more = askedTerms(request({ tools: [search({ type: 'web_search_20250305' })] }))
    expect(more).to.deep.equal({ toolCalls: { web_search: 30 } })
    expect(askedTerms(request({ web_search_options: {} }))).to.deep.equal({
      toolCalls: { web_search_preview: 1 },
    })
  })

  it('is finite, whatever a provider reports', () => {
    for (const count of [1e308, Number.POSITIVE_INFINITY])
      expect(toToolCalls({ web_search_requests: count }).toolCalls?.web_search).to.be.at.most(1e6)
    expect(toToolCalls({ constructor: 2 })).to.deep.equal({ toolCalls: { constructor: 2 } })
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
