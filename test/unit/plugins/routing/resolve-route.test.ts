import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/index.ts'
import { buildChatRequest, market, routeFor } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const good = model('good', 'acme', { quality: 90, price: { input: 10, output: 40 } })
const cheap = model('cheap', 'other', { quality: 40, price: { input: 0.1, output: 0.4 } })
const plain = model('plain', 'acme', { quality: 20, price: { input: 5, output: 20 }, aliases: ['simple'] })
const absent = model('absent', 'away')
const routingCatalog = market([good, cheap, plain, absent])

type Rule = { match?: object; action: object }

const route = (name: string | undefined, ...rules: Rule[]) =>
  routeFor(routingCatalog, buildChatRequest(name === undefined ? {} : { model: name }), rules)

const errorOf = (...args: Parameters<typeof route>) =>
  route(...args).then(
    () => expect.fail('the request was routed'),
    (error) => error as GatewayError,
  )

const bestOf = ({ route }: Awaited<ReturnType<typeof routeFor>>) => route.targets[0]

const outcomes = ({ trace }: Awaited<ReturnType<typeof routeFor>>) =>
  trace.map(({ rule_id, action, outcome, reason }) => [rule_id, action, outcome, ...(reason ? [reason] : [])])

describe('the route of a request', () => {
  describe('without rules', () => {
    it('is fixed to a named model, in the mode balance', async () => {
      const { route: found } = await route('good')
      expect(found).to.deep.include({ mode: 'balance', isFixed: true, score: 1 })
      expect(found.targets).to.deep.equal([{ provider: 'acme', model: 'good', entry: good }])
      expect(found.reason).to.equal('The request named the model: acme/good.')
    })

    it('resolves an alias and keeps it', async () => {
      expect(bestOf(await route('simple'))).to.include({ model: 'plain', alias: 'simple' })
    })

    it('goes to the best model for an automatic mode', async () => {
      expect(bestOf(await route('auto:cost')).model).to.equal('cheap')
      expect(bestOf(await route('auto:quality')).model).to.equal('good')
      expect((await route(undefined)).route.mode).to.equal('balance')
    })

    it('passes an uncatalogued name to the provider in the prefix', async () => {
      expect(bestOf(await route('acme:brand-new'))).to.deep.equal({ provider: 'acme', model: 'brand-new' })
    })

    it("passes another provider's model name to the provider in the prefix", async () => {
      expect(bestOf(await route('other:good'))).to.deep.equal({ provider: 'other', model: 'good' })
    })

    for (const name of ['no-such-model', 'good:quality', 'nobody:good']) {
      it(`is 404 for ${name}`, async () => {
        expect(await errorOf(name)).to.include({ code: 'model_not_found', status: 404 })
      })
    }

    it('is 503 for a model of a provider that is not configured', async () => {
      expect(await errorOf('absent')).to.include({ code: 'no_providers_available', status: 503 })
      expect(await errorOf('away:anything')).to.include({ code: 'no_providers_available' })
    })

    it('is 400 if the fixed model does not support the response_format', async () => {
      const withoutJson = market([good], {
        capabilitiesOf: () => ({ json: 'none', logit_bias: false, seed: false }),
      })
      const request = buildChatRequest({ model: 'good', response_format: { type: 'json_object' } })
      const error = await routeFor(withoutJson, request).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'unsupported_parameter', status: 400 })
      expect(error.details.param).to.equal('response_format')
    })

    it('puts preferred models first', async () => {
      const found = await routeFor(routingCatalog, buildChatRequest({ model: 'auto:quality' }), [], ['plain'])
      expect(found.route.targets.map(({ model }) => model)).to.deep.equal(['plain', 'good', 'cheap'])
    })
  })

  describe('with rules that set', () => {
    it('a provider: goes to its best model for the mode, regardless of the requested model', async () => {
      const found = await route('cheap', { action: { set_provider: 'acme' } })
      expect(found.route.targets.map(({ model }) => model)).to.deep.equal(['good', 'plain'])
      expect(found.route).to.include({ isFixed: false, mode: 'balance' })
      expect(found.route.reason).to.equal('A routing rule set the provider acme: acme/good.')
    })

    it('a provider that offers the requested model: keeps the model', async () => {
      for (const name of ['plain', 'acme:plain', 'acme:uncatalogued']) {
        const kept = await route(name, { action: { set_provider: 'acme' } })
        expect(kept.route).to.include({ isFixed: true, mode: 'balance' })
        expect(bestOf(kept)).to.include({ provider: 'acme', model: name.replace('acme:', '') })
      }
      const found = await route('plain', { action: { set_provider: 'acme', set_mode: 'quality' } })
      expect(found.route.isFixed).to.equal(false)
    })

    it('a model: is fixed to the model', async () => {
      const found = await route('auto:quality', { action: { set_model: 'cheap' } })
      expect(bestOf(found)).to.include({ provider: 'other', model: 'cheap' })
      expect(found.route.isFixed).to.equal(true)
      expect(outcomes(found)).to.deep.equal([[1, 'set_model', 'applied']])
    })

    it('a mode: is automatic in that mode, regardless of the requested model', async () => {
      const found = await route('plain', { action: { set_mode: 'cost' } })
      expect(bestOf(found).model).to.equal('cheap')
      expect(found.route).to.include({ isFixed: false, mode: 'cost' })
    })

    it('a provider and a mode: goes to the best model of the provider for the mode', async () => {
      expect(
        bestOf(await route('auto', { action: { set_provider: 'acme', set_mode: 'cost' } })).model,
      ).to.equal('plain')
    })

    it('a provider and one of its models: is fixed to the model', async () => {
      expect(
        bestOf(await route('auto', { action: { set_provider: 'acme', set_model: 'plain' } })),
      ).to.include({
        provider: 'acme',
        model: 'plain',
      })
    })

    it('a provider and an uncatalogued model: passes the name to the provider', async () => {
      const found = await route('auto', { action: { set_provider: 'acme', set_model: 'brand-new' } })
      expect(bestOf(found)).to.deep.equal({ provider: 'acme', model: 'brand-new' })
      expect(found.warnings).to.deep.equal([])
    })

    it('a provider and a model of another one: uses the best model of the provider and warns', async () => {
      const found = await route('auto:quality', { action: { set_provider: 'acme', set_model: 'cheap' } })
      expect(bestOf(found)).to.include({ provider: 'acme', model: 'good' })
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_provider', 'applied'],
        [1, 'set_model', 'skipped', 'model_not_offered_by_provider'],
      ])
      expect(found.warnings).to.have.length(1)
      expect(found.warnings[0]).to.deep.equal({
        code: 'routing',
        message: 'Provider acme does not offer the model cheap; its best model was used instead.',
      })
    })

    it('a provider and a model of another one in two rules: does the same', async () => {
      const found = await route(
        'auto',
        { action: { set_provider: 'acme' } },
        { action: { set_model: 'cheap' } },
      )
      expect(bestOf(found).provider).to.equal('acme')
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_provider', 'applied'],
        [2, 'set_model', 'skipped', 'model_not_offered_by_provider'],
      ])
    })

    it('an unknown model: ignores it with a warning', async () => {
      const found = await route('plain', { action: { set_model: 'no-such-model' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(outcomes(found)).to.deep.equal([[1, 'set_model', 'skipped', 'model_not_found']])
      expect(found.warnings[0]?.message).to.contain('no-such-model')
    })

    it('a model and a mode: skips the mode in the trace', async () => {
      const found = await route('auto:quality', { action: { set_model: 'plain', set_mode: 'cost' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(found.route.mode).to.equal('quality')
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_model', 'applied'],
        [1, 'set_mode', 'skipped', 'mode_unused_model_pinned'],
      ])
    })

    it('a provider that is not configured: is 503', async () => {
      expect(await errorOf('auto', { action: { set_provider: 'away' } })).to.include({ status: 503 })
    })
  })

  describe('with several matching rules', () => {
    it('takes a setter from the first rule and skips it in the second', async () => {
      const found = await route('auto', { action: { set_model: 'plain' } }, { action: { set_model: 'good' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_model', 'applied'],
        [2, 'set_model', 'skipped', 'already_set_by_rule'],
      ])
    })

    it('adds all warnings and keeps the requested route', async () => {
      const found = await route(
        'plain',
        { action: { add_warning: 'Mind the gap.' } },
        { action: { add_warning: { message: 'Stand clear.' } } },
      )
      expect(bestOf(found).model).to.equal('plain')
      expect(found.warnings).to.deep.equal([
        { code: 'routing', message: 'Mind the gap.' },
        { code: 'routing', message: 'Stand clear.' },
      ])
    })

    it('matches mode conditions against the requested mode, balance for a fixed model', async () => {
      const rule = { match: { mode: 'balance' }, action: { set_model: 'cheap' } }
      expect(bestOf(await route('plain', rule)).model).to.equal('cheap')
      expect(bestOf(await route('auto:quality', rule)).model).to.equal('good')
    })
  })
})
