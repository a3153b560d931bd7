import { expect } from 'chai'
import { type AttributedProviders, startAttributedProviders } from '../support/attributed-providers.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { routingRule } from '../support/policies.ts'

/** A plugin that tries, as the header `x-way` says, to send requests to a model that rules exclude. */
const LOOSENING = `
const target = (model) => ({ provider: model.split('-')[0], model })
const to = (...models) => (exchange) => {
  exchange.route = { ...exchange.route, targets: models.map(target), isFixed: false }
}
const WAYS = {
  route: to('gamma-1', 'alpha-1'),
  'route without requirement': (exchange) => {
    to('gamma-1', 'alpha-1')(exchange)
    delete exchange.route.requires
  },
  'only excluded': to('gamma-1', 'delta-1'),
  'the exchange': (exchange) => { exchange.requires = undefined; to('gamma-1')(exchange) },
  none: () => undefined,
}
export default {
  name: 'loosening',
  contract: 3,
  after: ['routing'],
  setup: () => ({
    decide: (exchange) => WAYS[exchange.headers['x-way'] ?? 'none'](exchange),
    conditions: [{
      name: 'breaks', schema: {}, description: 'anything', matcher: () => () => { throw new Error('no') },
    }],
    actions: [{
      name: 'loosen', schema: {}, description: 'anything', combine: 'all',
      apply: (how, draft) => {
        if (how === 'empty') draft.requirements.length = 0
        if (how === 'replace') draft.requirements = []
        if (how === 'change') draft.requirements[0].region = 'us'
      },
    }],
  }),
}
`

describe('the action require, with a plugin that would loosen it', () => {
  let providers: AttributedProviders
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    providers = await startAttributedProviders()
    const plugins = { add: [{ use: 'loosening', after: 'routing' }] }
    const { rate_limits: _, ...settings } = JSON.parse(providers.settings)
    const lines = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    gateway = await startWithPlugins({ loosening: LOOSENING }, plugins, lines.join(''), {
      LOG_LEVEL: 'silent',
    })
  })
  beforeEach(async () => {
    providers.calls.length = 0
    user = await newUser(gateway)
  })
  after(async () => {
    await gateway?.stop()
    providers.close()
  })

  const addRule = async (action: object, more: object = {}) => {
    const { status, body } = await user.call('POST', '/v1/routing-rules', routingRule(action, more))
    expect(status, JSON.stringify(body)).to.equal(201)
  }
  const ask = (headers = {}) => {
    const body = { model: 'auto', messages: [{ role: 'user', content: 'Hello' }] }
    return user.call('POST', '/v1/chat/completions', body, headers)
  }

  it('leaves the targets of its route that meet the requirement', async () => {
    await addRule({ require: { region: 'eu' } })
    for (const way of ['route', 'route without requirement']) {
      const { status, body } = await ask({ 'x-way': way })
      expect([status, body.model], JSON.stringify(body)).to.deep.equal([200, 'alpha-1'])
    }
    const refused = await ask({ 'x-way': 'only excluded' })
    expect(refused.status).to.equal(503)
    expect(refused.body.error.message).to.contain('require: region eu')
    expect((await ask({ 'x-way': 'the exchange' })).status).to.be.above(499)
    expect(providers.calls.map(({ model }) => model)).to.deep.equal(['alpha-1', 'alpha-1'])
  })

  it('lets no action remove or change what an earlier rule requires', async () => {
    await addRule({ require: { region: 'eu' } }, { priority: 9 })
    await addRule({ set_model: 'gamma-1' })
    for (const how of ['empty', 'replace', 'change']) {
      await addRule({ loosen: how })
      const { status, body } = await ask()
      expect(status, how).to.equal(503)
      expect(body.error.message, how).to.contain('require: region eu')
    }
    expect(providers.calls).to.be.empty
  })

  it('refuses a request if the condition of a rule that requires something fails', async () => {
    await addRule({ set_mode: 'cost' }, { match_json: { breaks: 1 } })
    expect((await ask()).status).to.equal(200)
    await addRule({ require: { region: 'eu' } }, { match_json: { breaks: 1 } })
    const { status, body } = await ask()
    expect(status).to.equal(500)
    expect(body.error.message).to.contain('A rule that requires attributes of models could not be evaluated')
    expect(providers.calls).to.have.length(1)
  })
})
