import { expect } from 'chai'
import { GatewayError, type Mode } from '../../../../core/contract/index.ts'
import { buildAutomaticRoute } from '../../../../plugins/routing/choose-model.ts'
import type { RoutingCatalog } from '../../../../plugins/routing/routing-catalog.ts'
import { ask, market } from '../../../support/market.ts'
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

const request = ask()

function chosen(
  said: Partial<Parameters<typeof buildAutomaticRoute>[2]> = {},
  mode: Mode = 'quality',
  from: RoutingCatalog = market(MODELS),
) {
  return buildAutomaticRoute(mode, 'best for the test', { request, preferences: [], ...said }, from)
}

const modelsOf = ({ targets }: ReturnType<typeof buildAutomaticRoute>) => targets.map(({ model }) => model)

describe('the automatic choice', () => {
  it('given models of providers that are not configured, then they are no candidates', () => {
    expect(modelsOf(chosen())).to.have.members(['good', 'cheap', 'blind'])
  })

  it('given several, then all are targets, best first for the mode', () => {
    expect(modelsOf(chosen({}, 'quality'))).to.deep.equal(['blind', 'good', 'cheap'])
    expect(modelsOf(chosen({}, 'cost'))[0]).to.equal('cheap')
  })

  it('given a model that cannot serve the request, then it is no candidate, nor counts for costs', () => {
    const route = chosen({ request: ask({ response_format: { type: 'json_object' } }) })
    expect(modelsOf(route)).to.deep.equal(['good', 'cheap'])
    expect(route.candidates()).to.deep.equal([good, cheap])
  })

  it('given a model that rests, then it is not chosen, and still counts for costs', () => {
    const route = chosen({}, 'quality', market(MODELS, { isUsable: ({ id }) => id !== 'blind' }))
    expect(modelsOf(route)).to.deep.equal(['good', 'cheap'])
    expect(route.candidates()).to.include(blind)
  })

  it('given a live latency, then the mode latency follows it', () => {
    const live = (slow: string) =>
      market([good, cheap], { latencyOf: ({ id }) => (id === slow ? 10_000 : 10) })
    expect(modelsOf(chosen({}, 'latency', live('good')))[0]).to.equal('cheap')
    expect(modelsOf(chosen({}, 'latency', live('cheap')))[0]).to.equal('good')
  })

  it("says the winner's score and in one sentence what decided", () => {
    const route = chosen()
    expect(route.score).to.be.within(0, 1)
    expect(route).to.include({ mode: 'quality', isFixed: false, reason: 'Best for the test: blind of acme.' })
  })

  describe('with preferences', () => {
    it('given some, then they come first and in order, by id, alias or with their provider', () => {
      expect(modelsOf(chosen({ preferences: ['thrifty', 'acme:good'] }))).to.deep.equal([
        'cheap',
        'good',
        'blind',
      ])
    })

    it('given one that is unknown or cannot serve the request, then it is passed over', () => {
      const json = ask({ response_format: { type: 'json_object' } })
      const route = chosen({ request: json, preferences: ['gpt-99', 'blind', 'absent', 'cheap'] })
      expect(modelsOf(route)).to.deep.equal(['cheap', 'good'])
      expect(route.reason).to.equal('The caller prefers it: cheap of other.')
    })
  })

  describe('with a provider', () => {
    it('given one, then only its models are chosen from', () => {
      expect(modelsOf(chosen({ provider: 'acme' }))).to.deep.equal(['blind', 'good'])
    })

    it('given one that is not configured, then 503', () => {
      expect(() => chosen({ provider: 'away' }))
        .to.throw(GatewayError, 'The provider away is not configured here.')
        .that.includes({ code: 'no_providers_available', status: 503 })
    })
  })

  describe('when there is nobody', () => {
    it('given no provider is configured, then 503 with retry_after', () => {
      expect(() => chosen({}, 'cost', market([absent])))
        .to.throw(GatewayError, 'No provider is configured here.')
        .that.deep.includes({ code: 'no_providers_available', details: { retryAfter: 5 } })
    })

    it('given all rest, then 503 with retry_after', () => {
      expect(() => chosen({}, 'cost', market(MODELS, { isUsable: () => false })))
        .to.throw(GatewayError, 'given a rest')
        .that.deep.includes({ code: 'no_providers_available', details: { retryAfter: 5 } })
    })

    it('given none is able, then 400 that says what is missing', () => {
      const huge = ask({ messages: [{ role: 'user', content: 'x'.repeat(4_000_000) }] })
      expect(() => chosen({ request: huge }))
        .to.throw(GatewayError, 'context')
        .that.includes({ code: 'unsupported_parameter', status: 400 })
    })
  })
})
