import { expect } from 'chai'
import { GatewayError, type Mode } from '../../../../core/contract/index.ts'
import { buildAutomaticRoute } from '../../../../plugins/routing/build-route.ts'
import type { RoutingCatalog } from '../../../../plugins/routing/routing-catalog.ts'
import { buildChatRequest, market } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const good = model('good', 'acme', { quality: 90, price: { input: 10, output: 40 } })
const cheap = model('cheap', 'other', {
  quality: 40,
  price: { input: 0.1, output: 0.4 },
  aliases: ['thrifty'],
})
const blind = model('blind', 'acme', {
  quality: 95,
  capabilities: { tools: false, images: false, json: 'none' },
})
const absent = model('absent', 'away', { quality: 99, price: { input: 0, output: 0 } })
const MODELS = [good, cheap, blind, absent]

const request = buildChatRequest()

function automaticRoute(
  choice: Partial<Parameters<typeof buildAutomaticRoute>[2]> = {},
  mode: Mode = 'quality',
  from: RoutingCatalog = market(MODELS),
) {
  const made = { request, userId: 1, preferences: [], ...choice }
  return buildAutomaticRoute(mode, 'best for the test', made, from)
}

const modelsOf = ({ targets }: ReturnType<typeof buildAutomaticRoute>) => targets.map(({ model }) => model)

describe('an automatic route', () => {
  it('excludes models of providers that are not configured', () => {
    expect(modelsOf(automaticRoute())).to.have.members(['good', 'cheap', 'blind'])
  })

  it('lists all candidates, best first for the mode', () => {
    expect(modelsOf(automaticRoute({}, 'quality'))).to.deep.equal(['blind', 'good', 'cheap'])
    expect(modelsOf(automaticRoute({}, 'cost'))[0]).to.equal('cheap')
  })

  it('excludes a model that does not support the request, also from the cost comparison', () => {
    const route = automaticRoute({ request: buildChatRequest({ response_format: { type: 'json_object' } }) })
    expect(modelsOf(route)).to.deep.equal(['good', 'cheap'])
    expect(route.candidates()).to.deep.equal([good, cheap])
  })

  it('excludes an unavailable model, but not from the cost comparison', () => {
    const route = automaticRoute({}, 'quality', market(MODELS, { isUsable: ({ id }) => id !== 'blind' }))
    expect(modelsOf(route)).to.deep.equal(['good', 'cheap'])
    expect(route.candidates()).to.include(blind)
  })

  it('uses live latencies in the mode latency', () => {
    const live = (slow: string) =>
      market([good, cheap], { latencyOf: ({ id }) => (id === slow ? 10_000 : 10) })
    expect(modelsOf(automaticRoute({}, 'latency', live('good')))[0]).to.equal('cheap')
    expect(modelsOf(automaticRoute({}, 'latency', live('cheap')))[0]).to.equal('good')
  })

  it('returns the score of the best model and a sentence that explains the choice', () => {
    const route = automaticRoute()
    expect(route.score).to.be.within(0, 1)
    expect(route).to.include({ mode: 'quality', isFixed: false, reason: 'Best for the test: acme/blind.' })
  })

  describe('with preferred models', () => {
    it('puts them first, in order, by id, alias or provider and id', () => {
      expect(modelsOf(automaticRoute({ preferences: ['thrifty', 'acme:good'] }))).to.deep.equal([
        'cheap',
        'good',
        'blind',
      ])
    })

    it('ignores one that is unknown or does not support the request', () => {
      const json = buildChatRequest({ response_format: { type: 'json_object' } })
      const route = automaticRoute({ request: json, preferences: ['gpt-99', 'blind', 'absent', 'cheap'] })
      expect(modelsOf(route)).to.deep.equal(['cheap', 'good'])
      expect(route.reason).to.equal('The caller prefers this model: other/cheap.')
    })
  })

  describe('with a provider', () => {
    it('chooses only from the models of the provider', () => {
      expect(modelsOf(automaticRoute({ provider: 'acme' }))).to.deep.equal(['blind', 'good'])
    })

    it('returns 503 if the provider is not configured', () => {
      expect(() => automaticRoute({ provider: 'away' }))
        .to.throw(GatewayError, 'Provider away is not configured.')
        .that.includes({ code: 'no_providers_available', status: 503 })
    })
  })

  describe('without a usable model', () => {
    it('returns 503 without retry if no provider is configured', () => {
      expect(() => automaticRoute({}, 'cost', market([absent])))
        .to.throw(GatewayError, 'No provider is configured.')
        .that.deep.includes({
          code: 'no_providers_available',
          details: { headers: { 'x-should-retry': 'false' } },
        })
    })

    it('returns 503 with retry_after if all models are unavailable', () => {
      expect(() => automaticRoute({}, 'cost', market(MODELS, { isUsable: () => false })))
        .to.throw(GatewayError, 'temporarily unavailable')
        .that.deep.includes({ code: 'no_providers_available', details: { retryAfter: 5 } })
    })

    it('returns 400 with the missing capability if no model supports the request', () => {
      const huge = buildChatRequest({ messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] })
      expect(() => automaticRoute({ request: huge }))
        .to.throw(GatewayError, 'a context of this length')
        .that.includes({ code: 'context_length_exceeded', status: 400 })
    })
  })
})
