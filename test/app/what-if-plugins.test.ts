import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { asAdmin, routingRule } from '../support/policies.ts'

const TEAM = `
const team = {
  name: 'team', schema: { type: 'string' }, description: 'a text', headers: ['x-team'],
  matcher: (value) => (input) => input.headers['x-team'] === value,
}
export default { name: 'team', contract: 3, setup: () => ({ conditions: [team] }) }`

/** Refuses every request with the phrase; counts its calls in what-if and simulations. */
const refusing = (name: string, declaration: string) => `
import { GatewayError } from 'signalbox'
export default {
  name: '${name}', contract: 3, ${declaration}
  setup: () => ({
    decide(exchange) {
      if (JSON.stringify(exchange.request.messages).includes('${name} stops this'))
        throw new GatewayError('refused', 'Stopped.')
    },
  }),
}`

const PACKAGES = {
  team: TEAM,
  pure: refusing('pure', "replay: { type: 'pure' },"),
  unsure: refusing('unsure', ''),
  outside: refusing('outside', "replay: { type: 'not', why: 'The list of outside is not read.' },"),
}

describe('what-if with plugin packages', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  const start = (mode: string) =>
    startWithPlugins(
      PACKAGES,
      { add: Object.keys(PACKAGES).map((use) => ({ use, before: 'routing' })) },
      `ledger: { record_prompts: ${mode} }\n`,
      { RECORD_KEY: randomBytes(32).toString('base64') },
    )
  before(async () => {
    gateway = await start('full')
  })
  after(() => gateway?.stop())

  const ask = (user: TestUser, content: string, headers = {}) =>
    user.call(
      'POST',
      '/v1/chat/completions',
      { model: 'auto', messages: [{ role: 'user', content }] },
      { 'x-include-trace': 'true', ...headers },
    )

  async function whatIf(at: RunningGateway, user: TestUser, file: object = {}) {
    const { status, body } = await asAdmin(at, 'POST', `/admin/what-if?user=${user.id}`, {
      file,
      examples: 10,
    })
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  async function recorded(at: RunningGateway, { headers }: { readonly headers: Headers }) {
    const path = `/admin/requests/${headers.get('x-request-id')}/prompt`
    const { status, body } = await asAdmin(at, 'GET', path)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.data
  }

  const BLUE = { match_json: { team: 'blue' } }

  describe('a condition on a header', () => {
    it('decides about recorded requests as it did, by the headers that it declares', async () => {
      const user = await newUser(gateway)
      const rule = routingRule({ set_model: 'gpt-4o-mini' }, BLUE)
      expect((await user.call('POST', '/v1/routing-rules', rule)).status).to.equal(201)
      const blue = await ask(user, 'hello', { 'x-team': 'blue', 'x-other': 'secret' })
      expect(blue.headers.get('x-model')).to.equal('gpt-4o-mini')
      await ask(user, 'hello', { 'x-team': 'red' })
      await ask(user, 'hello')
      const prompts = await recorded(gateway, blue)
      expect(prompts).to.deep.include({ headers: { 'x-team': 'blue' }, left_out: [] })
      const { reproduced, evaluated } = await whatIf(gateway, user)
      expect([evaluated, reproduced.same]).to.deep.equal([3, 3])
    })

    it('is drafted on the headers of recorded requests', async () => {
      const user = await newUser(gateway)
      await ask(user, 'hello', { 'x-team': 'blue' })
      await ask(user, 'hello', { 'x-team': 'red' })
      const policy = {
        name: 'Drafted',
        is_enabled: true,
        priority: 5,
        applies_to: { everyone: true },
        routing_rules: [routingRule({ set_model: 'gpt-4o-mini' }, BLUE)],
      }
      const { drafts, examples } = await whatIf(gateway, user, { policies: [policy] })
      expect(drafts[0]).to.include({ requests: 1 })
      expect(examples[0].after).to.include({ model: 'gpt-4o-mini' })
    })

    it('finds no header in a record of masked prompts, which says so', async () => {
      const masked = await start('masked')
      try {
        const user = await newUser(masked)
        const blue = await ask(user, 'hello', { 'x-team': 'blue' })
        const plain = await ask(user, 'hello')
        expect(await recorded(masked, blue)).to.deep.include({ headers: {}, left_out: ['headers'] })
        expect(await recorded(masked, plain)).to.deep.include({ headers: {}, left_out: [] })
      } finally {
        await masked.stop()
      }
    })
  })

  describe('a plugin', () => {
    const limitations = async (user: TestUser) => {
      const result = await whatIf(gateway, user)
      const all: readonly { code: string; message: string }[] = result.limitations
      return { result, messages: all.filter(({ code }) => code === 'plugin').map(({ message }) => message) }
    }

    it('that is pure decides again, and is no limitation', async () => {
      const user = await newUser(gateway)
      expect((await ask(user, 'pure stops this')).status).to.equal(400)
      const { result, messages } = await limitations(user)
      expect(result.reproduced.same).to.equal(1)
      expect(messages.filter((message) => /"(pure|team)"/.test(message))).to.deep.equal([])
    })

    it('that does not say decides again, and is named', async () => {
      const user = await newUser(gateway)
      expect((await ask(user, 'unsure stops this')).status).to.equal(400)
      const { result, messages } = await limitations(user)
      expect(result.reproduced.same).to.equal(1)
      expect(messages).to.include(
        'Plugin "unsure" does not declare whether it decides alike again ("replay"); it did decide again.',
      )
    })

    it('that cannot decide again is not called, in what-if and simulations, which say why', async () => {
      const user = await newUser(gateway)
      expect((await ask(user, 'outside stops this')).status).to.equal(400)
      const { result, messages } = await limitations(user)
      expect(result.outcomes.before).to.include({ allowed: 1, refused: 0 })
      expect(messages).to.include('The list of outside is not read.')
      const messagesOfUser = [{ role: 'user', content: 'outside stops this' }]
      const { body } = await user.call('POST', '/v1/simulate', { messages: messagesOfUser })
      expect(body.data.outcome).to.equal('allowed')
      expect(body.data.warnings).to.deep.equal([
        { code: 'guardrail', message: 'The list of outside is not read.' },
      ])
    })
  })
})
