import { expect } from 'chai'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type Body, readRecords } from '../support/dialects.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { installAll } from '../support/plugins.ts'
import {
  chunk,
  completion,
  type ScriptedProvider,
  startScriptedProvider,
} from '../support/scripted-provider.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { receivedText } from '../support/streams.ts'

const EVALUATED = `${UNLIMITED}firewall: { evaluate_responses: true }\n`

/** Answers without a provider. */
const ORACLE = `import { ReplyEvent } from 'signalbox'
export default {
  name: 'oracle',
  contract: 3,
  before: ['dispatch'],
  setup: () => ({
    reply: ({ id }) => ({
      type: 'whole',
      event: new ReplyEvent([
        { type: 'start', id, model: 'oracle-1' },
        { type: 'text', text: 'A secret.' },
        { type: 'finish', reason: 'stop' },
      ]),
    }),
  }),
}`

const secretRule = (more: object = {}) => firewallRuleBody({ scope: 'response', ...more })

describe('firewall rules with the scope response, by what a provider sends', function () {
  this.timeout(180_000)
  let provider: ScriptedProvider
  const gateways: RunningGateway[] = []

  before(async () => {
    provider = await startScriptedProvider()
  })
  after(async () => {
    for (const gateway of gateways) await gateway.stop()
    provider?.close()
  })

  async function start(yaml: string, more: object = {}): Promise<RunningGateway> {
    const environment = { OPENAI_API_KEY: 'provider-key', OPENAI_BASE_URL: provider.url }
    const gateway = await startGateway({ ...environment, ...(await withSettings(yaml)) }, more)
    gateways.push(gateway)
    return gateway
  }

  /** The text of the response to a chat request. */
  async function ask(gateway: RunningGateway, stream: boolean): Promise<string> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('Hello', { stream })),
    })
    return receivedText(response)
  }

  describe('and the setting on', () => {
    let gateway: RunningGateway
    before(async () => {
      gateway = await start(EVALUATED)
      await gateway.call('POST', '/v1/firewall-rules', secretRule())
    })

    it('mask a match that spans many chunks', async () => {
      const chunks = [...'It is a SECRET, really.'].map((content) => chunk({ content }))
      provider.play({ chunks: [...chunks, chunk({}, 'stop')] })
      const text = await ask(gateway, true)
      const said = readRecords(text).map(({ choices }) => choices[0]?.delta.content ?? '')
      expect(said.join('')).to.equal('It is a [redacted], really.')
      expect(said.filter((part) => part !== '')).to.have.length.greaterThan(15)
    })

    it('mask the input of custom tools', async () => {
      const custom = { name: 'run', input: 'echo secret' }
      const message = { tool_calls: [{ id: 'call_1', type: 'custom', custom }] }
      provider.play({ body: completion(message) })
      const [call] = JSON.parse(await ask(gateway, false)).choices[0].message.tool_calls
      const masked = { name: 'run', input: 'echo [redacted]' }
      expect(call).to.deep.equal({ id: 'call_1', type: 'custom', custom: masked })

      const begin = { index: 0, id: 'call_1', type: 'custom', custom: { name: 'run', input: '' } }
      const pieces = ['echo se', 'cret'].map((input) =>
        chunk({ tool_calls: [{ index: 0, custom: { input } }] }),
      )
      provider.play({ chunks: [chunk({ tool_calls: [begin] }), ...pieces, chunk({}, 'tool_calls')] })
      const deltas = readRecords(await ask(gateway, true)).flatMap(
        ({ choices }) => choices[0]?.delta.tool_calls ?? [],
      )
      expect(deltas[0]).to.deep.equal(begin)
      expect(deltas.map((delta: Body) => delta.custom.input).join('')).to.equal('echo [redacted]')
    })

    it('leave out what they do not inspect: fields of the provider, and further choices', async () => {
      const more = { annotations: [{ note: 'a secret' }], audio: { transcript: 'secret' } }
      provider.play({ body: completion({ content: 'Hello', ...more }, { content: 'another secret' }) })
      const whole = await ask(gateway, false)
      expect(JSON.parse(whole).choices).to.have.length(1)
      expect(JSON.parse(whole).choices[0].message.content).to.equal('Hello')
      expect(whole).not.to.contain('secret')

      provider.play({
        chunks: [
          chunk({ content: 'Hello', ...more }),
          chunk({ content: 'another secret' }, null, 1),
          chunk({}, 'stop'),
          chunk({ content: 'secret' }, 'stop', 1),
        ],
      })
      const text = await ask(gateway, true)
      expect(text).to.contain('Hello').and.contain('[DONE]').and.not.contain('secret')
    })

    it('are counted by their scope', async () => {
      const { sum } = await scrape(gateway)
      const labels = { kind: 'firewall', scope: 'response', action: 'mask', outcome: 'applied' }
      expect(sum('signalbox_rule_actions_total', labels)).to.be.greaterThan(0)
      expect(sum('signalbox_rule_actions_total', { ...labels, scope: 'prompt' })).to.equal(0)
    })

    it('are not applied on the free plan, which a warning says', async () => {
      provider.play({ body: completion({ content: 'A secret' }) })
      await gateway.call('PATCH', '/admin/users/1', { plan: 'free' }, AS_ADMIN)
      const { choices, signalbox } = JSON.parse(await ask(gateway, false))
      await gateway.call('PATCH', '/admin/users/1', { plan: 'paid' }, AS_ADMIN)
      expect(choices[0].message.content).to.equal('A secret')
      expect(signalbox.warnings[0].code).to.equal('plan')
    })
  })

  it('mask replies of plugins that answer themselves', async () => {
    const pluginFolder = await installAll({ oracle: ORACLE })
    const yaml = `${EVALUATED}plugins: { add: [{ use: oracle, before: dispatch }] }\n`
    const gateway = await start(yaml, { pluginFolder })
    await gateway.call('POST', '/v1/firewall-rules', secretRule())
    expect(JSON.parse(await ask(gateway, false)).choices[0].message.content).to.equal('A [redacted].')
    expect(await ask(gateway, true))
      .to.contain('[redacted]')
      .and.not.contain('secret')
  })

  it('are stored and not evaluated by default, which the answer says', async () => {
    const gateway = await start(UNLIMITED)
    const { body } = await gateway.call('POST', '/v1/firewall-rules', secretRule({ action: 'block' }))
    expect(body.warnings).to.deep.equal([
      {
        code: 'scope_not_evaluated',
        message:
          'Rules with scope "response" are stored but not evaluated: the setting ' +
          'firewall.evaluate_responses is off.',
      },
    ])
    provider.play({ body: completion({ content: 'A secret', annotations: [] }) })
    const { choices, signalbox } = JSON.parse(await ask(gateway, false))
    expect(choices[0].message).to.include({ content: 'A secret' }).and.have.property('annotations')
    expect(signalbox).not.to.have.property('warnings')
    provider.play({ chunks: [chunk({ content: 'A secret' }), chunk({}, 'stop')] })
    expect(await ask(gateway, true)).to.contain('A secret')
  })
})
