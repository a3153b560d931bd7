import { expect } from 'chai'
import { GatewayError } from '../../../../core/contract/index.ts'
import { ask, market, routeFor } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const good = model('good', 'acme', { quality: 90, price: { input: 10, output: 40 } })
const cheap = model('cheap', 'other', { quality: 40, price: { input: 0.1, output: 0.4 } })
const plain = model('plain', 'acme', { quality: 20, price: { input: 5, output: 20 }, aliases: ['simple'] })
const absent = model('absent', 'away')
const shop = market([good, cheap, plain, absent])

type Rule = { match?: object; action: object }

const route = (name: string | undefined, ...rules: Rule[]) =>
  routeFor(shop, ask(name === undefined ? {} : { model: name }), rules)

const failureOf = (...args: Parameters<typeof route>) =>
  route(...args).then(
    () => expect.fail('it was routed'),
    (error) => error as GatewayError,
  )

const bestOf = ({ route }: Awaited<ReturnType<typeof routeFor>>) => route.targets[0]

const outcomes = ({ trace }: Awaited<ReturnType<typeof routeFor>>) =>
  trace.map(({ rule_id, action, outcome, reason }) => [rule_id, action, outcome, ...(reason ? [reason] : [])])

describe('where a request goes', () => {
  describe('without rules', () => {
    it('given a model, then it is pinned, in the mode balance', async () => {
      const { route: found } = await route('good')
      expect(found).to.deep.include({ mode: 'balance', isFixed: true, score: 1 })
      expect(found.targets).to.deep.equal([{ provider: 'acme', model: 'good', entry: good }])
      expect(found.reason).to.equal('The request named the model: good of acme.')
    })

    it('given an alias, then its model, and the name it was asked by', async () => {
      expect(bestOf(await route('simple'))).to.include({ model: 'plain', alias: 'simple' })
    })

    it('given an automatic mode, then the best for it', async () => {
      expect(bestOf(await route('auto:cost')).model).to.equal('cheap')
      expect(bestOf(await route('auto:quality')).model).to.equal('good')
      expect((await route(undefined)).route.mode).to.equal('balance')
    })

    it('given a prefix and a name that is not catalogued, then it is passed on as it stands', async () => {
      expect(bestOf(await route('acme:brand-new'))).to.deep.equal({ provider: 'acme', model: 'brand-new' })
    })

    it('given a prefix and the model of another provider, then it is passed on as it stands', async () => {
      expect(bestOf(await route('other:good'))).to.deep.equal({ provider: 'other', model: 'good' })
    })

    for (const name of ['gpt-99', 'good:quality', 'nobody:good']) {
      it(`given ${name}, then 404`, async () => {
        expect(await failureOf(name)).to.include({ code: 'model_not_found', status: 404 })
      })
    }

    it('given a model of a provider that is not configured, then 503', async () => {
      expect(await failureOf('absent')).to.include({ code: 'no_providers_available', status: 503 })
      expect(await failureOf('away:anything')).to.include({ code: 'no_providers_available' })
    })

    it('given a response_format that the pinned model cannot honour, then 400', async () => {
      const mute = market([good], {
        capabilitiesOf: () => ({ json: 'none', logit_bias: false, seed: false }),
      })
      const request = ask({ model: 'good', response_format: { type: 'json_object' } })
      const error = await routeFor(mute, request).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).and.include({ code: 'unsupported_parameter', status: 400 })
      expect(error.details.param).to.equal('response_format')
    })

    it('given preferences, then they come before the automatic choice', async () => {
      const found = await routeFor(shop, ask({ model: 'auto:quality' }), [], ['plain'])
      expect(found.route.targets.map(({ model }) => model)).to.deep.equal(['plain', 'good', 'cheap'])
    })
  })

  describe('with rules that set', () => {
    it('a provider: then the best of its models for the mode, whatever model was named', async () => {
      const found = await route('cheap', { action: { set_provider: 'acme' } })
      expect(found.route.targets.map(({ model }) => model)).to.deep.equal(['good', 'plain'])
      expect(found.route).to.include({ isFixed: false, mode: 'balance' })
      expect(found.route.reason).to.equal('A routing rule set the provider acme: good of acme.')
    })

    it('a model: then it is pinned with the provider that has it', async () => {
      const found = await route('auto:quality', { action: { set_model: 'cheap' } })
      expect(bestOf(found)).to.include({ provider: 'other', model: 'cheap' })
      expect(found.route.isFixed).to.equal(true)
      expect(outcomes(found)).to.deep.equal([[1, 'set_model', 'applied']])
    })

    it('a mode: then an automatic choice in that mode, whatever model was named', async () => {
      const found = await route('plain', { action: { set_mode: 'cost' } })
      expect(bestOf(found).model).to.equal('cheap')
      expect(found.route).to.include({ isFixed: false, mode: 'cost' })
    })

    it('a provider and a mode: then the best of that provider for that mode', async () => {
      expect(
        bestOf(await route('auto', { action: { set_provider: 'acme', set_mode: 'cost' } })).model,
      ).to.equal('plain')
    })

    it('a provider and one of its models: then that one', async () => {
      expect(
        bestOf(await route('auto', { action: { set_provider: 'acme', set_model: 'plain' } })),
      ).to.include({
        provider: 'acme',
        model: 'plain',
      })
    })

    it('a provider and a model that is not catalogued: then the name is passed to it as it stands', async () => {
      const found = await route('auto', { action: { set_provider: 'acme', set_model: 'brand-new' } })
      expect(bestOf(found)).to.deep.equal({ provider: 'acme', model: 'brand-new' })
      expect(found.warnings).to.deep.equal([])
    })

    it("a provider and another's model: then the provider stays, its best model is used, and the caller is warned", async () => {
      const found = await route('auto:quality', { action: { set_provider: 'acme', set_model: 'cheap' } })
      expect(bestOf(found)).to.include({ provider: 'acme', model: 'good' })
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_provider', 'applied'],
        [1, 'set_model', 'skipped', 'model_not_offered_by_provider'],
      ])
      expect(found.warnings).to.have.length(1)
      expect(found.warnings[0]).to.deep.equal({
        code: 'routing',
        message: 'The model cheap is not offered by acme; the best model of acme was used.',
      })
    })

    it('the two in different rules: then the same', async () => {
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

    it('a model that nobody offers: then it is skipped with a warning, and the request goes where it would', async () => {
      const found = await route('plain', { action: { set_model: 'gpt-99' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(outcomes(found)).to.deep.equal([[1, 'set_model', 'skipped', 'model_not_found']])
      expect(found.warnings[0]?.message).to.contain('gpt-99')
    })

    it('a model and a mode: then the mode is not used, and the trace says so', async () => {
      const found = await route('auto:quality', { action: { set_model: 'plain', set_mode: 'cost' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(found.route.mode).to.equal('quality')
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_model', 'applied'],
        [1, 'set_mode', 'skipped', 'mode_unused_model_pinned'],
      ])
    })

    it('a provider that is not configured: then 503', async () => {
      expect(await failureOf('auto', { action: { set_provider: 'away' } })).to.include({ status: 503 })
    })
  })

  describe('with several rules that match', () => {
    it('given two set the same, then the first wins and the second is skipped', async () => {
      const found = await route('auto', { action: { set_model: 'plain' } }, { action: { set_model: 'good' } })
      expect(bestOf(found).model).to.equal('plain')
      expect(outcomes(found)).to.deep.equal([
        [1, 'set_model', 'applied'],
        [2, 'set_model', 'skipped', 'already_set_by_rule'],
      ])
    })

    it('given warnings, then all are added, and routing stays as requested', async () => {
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

    it('given a mode condition, then it sees the requested mode, balance for a pinned model', async () => {
      const rule = { match: { mode: 'balance' }, action: { set_model: 'cheap' } }
      expect(bestOf(await route('plain', rule)).model).to.equal('cheap')
      expect(bestOf(await route('auto:quality', rule)).model).to.equal('good')
    })
  })
})
