import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { stopClock } from '../support/clock.ts'
import { type Answer, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, routingRule } from '../support/policies.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { sendRequest } from '../support/send-request.ts'
import { withSettings } from '../support/settings.ts'
import {
  CHEAP_INPUT,
  CHEAP_OUTPUT,
  conversation,
  LONG_REPLY,
  playUsage,
  SHORT_REPLY,
  stickySettings,
} from '../support/sticky.ts'

const SECONDS = 300

describe('automatic choices with routing.sticky', function () {
  this.timeout(120_000)
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let user: TestUser

  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway(await withSettings(stickySettings(provider.url)))
  })
  beforeEach(async () => {
    user = await newUser(gateway)
    playUsage(provider)
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  const chat = async (body: object, headers: Record<string, string> = {}, by = user): Promise<Answer> => {
    const answer = await by.call(
      'POST',
      '/v1/chat/completions',
      { model: 'auto:cost', ...body },
      { 'x-include-trace': 'true', ...headers },
    )
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer
  }
  const sent = () => provider.last()?.body.model

  it('choose the best model for each request without it', async () => {
    const plain = await startGateway(await withSettings(stickySettings(provider.url, { seconds: 0 })))
    const ask = (body: object) =>
      plain.call('POST', '/v1/chat/completions', { model: 'auto:cost', ...conversation('One'), ...body })
    await ask(SHORT_REPLY)
    expect(sent()).to.equal(CHEAP_INPUT)
    await ask(LONG_REPLY)
    expect(sent()).to.equal(CHEAP_OUTPUT)
    await plain.stop()
  })

  it('stay with the model whose cached prompt makes it cheaper, and say so', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    const { headers, body } = await chat({ ...conversation('One', 'Two'), ...LONG_REPLY })
    expect(sent()).to.equal(CHEAP_INPUT)
    const { kept_for_prompt_cache: kept, rule_trace: trace } = body.signalbox
    expect(kept.instead_of).to.equal(`lab/${CHEAP_OUTPUT}`)
    expect(kept.cached_tokens).to.be.within(1900, 2100)
    expect(kept.saving_usd).to.be.greaterThan(0)
    const entry = {
      ...{ kind: 'sticky', rule_id: 0, name: 'routing.sticky', action: 'keep_model', outcome: 'applied' },
      ...{ reason: 'kept_for_prompt_cache', arm: `lab/${CHEAP_INPUT}` },
    }
    expect(trace).to.deep.equal([entry])
    const record = await user.call('GET', `/v1/requests/${headers.get('x-request-id')}`)
    expect(record.body.data.routing_reason).to.equal(`Kept for the prompt cache: lab/${CHEAP_INPUT}.`)
    expect(record.body.data.rule_trace).to.deep.equal([entry])
  })

  it('say nothing while the model is the best one anyway', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    const { body } = await chat({ ...conversation('One', 'Two'), ...SHORT_REPLY })
    expect(sent()).to.equal(CHEAP_INPUT)
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
    expect(body.signalbox.rule_trace).to.deep.equal([])
  })

  const SESSIONS: Readonly<Record<string, readonly [fields: object, headers: Record<string, string>]>> = {
    prompt_cache_key: [{ prompt_cache_key: 'one' }, {}],
    'x-session-id': [{}, { 'x-session-id': 'one' }],
    "Claude Code's header": [{}, { 'x-claude-code-session-id': 'one' }],
    "Codex's header": [{}, { session_id: 'one' }],
    "Codex's newer header": [{}, { 'session-id': 'one' }],
  }
  for (const [name, [fields, headers]] of Object.entries(SESSIONS))
    it(`know a conversation by ${name}, whatever its messages are`, async () => {
      await chat({ ...conversation('One'), ...SHORT_REPLY, ...fields }, headers)
      await chat({ ...conversation('Other'), ...LONG_REPLY, ...fields }, headers)
      expect(sent()).to.equal(CHEAP_INPUT)
      await chat({ ...conversation('Other'), ...LONG_REPLY })
      expect(sent()).to.equal(CHEAP_OUTPUT)
    })

  it('know a conversation by previous_response_id, whatever its instructions are', async () => {
    const respond = async (body: object) => {
      const answer = await user.call('POST', '/v1/responses', { model: 'auto:cost', ...body })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
      return answer.body.id as string
    }
    const [{ content: instructions }] = conversation('One').messages
    const first = await respond({ instructions, input: 'One', max_output_tokens: 16 })
    const second = { instructions: `${instructions} again`, input: 'Two', previous_response_id: first }
    const id = await respond({ ...second, max_output_tokens: 500 })
    expect(sent()).to.equal(CHEAP_INPUT)
    await respond({ instructions, input: 'Three', previous_response_id: id, max_output_tokens: 500 })
    expect(sent()).to.equal(CHEAP_INPUT)
    await respond({ instructions: `${instructions} anew`, input: 'Two', max_output_tokens: 500 })
    expect(sent()).to.equal(CHEAP_OUTPUT)
  })

  it('know a conversation in the format of Anthropic, and in streams', async () => {
    const [{ content: system }] = conversation('One').messages
    const ask = async (max_tokens: number) => {
      const messages = [{ role: 'user', content: 'One' }]
      const body = { model: 'auto:cost', system, messages, max_tokens, stream: true }
      playUsage(provider, { stream: true })
      const { status } = await sendRequest(`${gateway.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': user.key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      expect(status).to.equal(200)
      return sent()
    }
    expect(await ask(1)).to.equal(CHEAP_INPUT)
    expect(await ask(500)).to.equal(CHEAP_INPUT)
  })

  it('do not stay where the provider no longer finds the prompt in its cache', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    playUsage(provider, { cached: 0 })
    await chat({ ...conversation('One', 'Two'), ...LONG_REPLY })
    expect(sent()).to.equal(CHEAP_INPUT)
    await chat({ ...conversation('One', 'Two', 'Three'), ...LONG_REPLY })
    expect(sent()).to.equal(CHEAP_OUTPUT)
  })

  it('do not stay where cached tokens are not cheap enough', async () => {
    const settings = stickySettings(provider.url, { cached: 0.95 })
    const dear = await startGateway(await withSettings(settings))
    for (const [body, expected] of [
      [SHORT_REPLY, CHEAP_INPUT],
      [LONG_REPLY, CHEAP_OUTPUT],
    ] as const) {
      await dear.call('POST', '/v1/chat/completions', { model: 'auto:cost', ...conversation('One'), ...body })
      expect(sent()).to.equal(expected)
    }
    await dear.stop()
  })

  it('do not stay for a prompt of less than half the length, which is another one of the session', async () => {
    const headers = { 'x-session-id': 'one' }
    await chat({ ...conversation('One'), ...SHORT_REPLY }, headers)
    const title = { messages: [{ role: 'user', content: 'A title, please.' }], max_tokens: 500 }
    const { body } = await chat(title, headers)
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
    await chat({ ...conversation('One', 'Two'), ...LONG_REPLY }, headers)
    expect(sent()).to.equal(CHEAP_INPUT)
  })

  it('expire', async () => {
    const clock = stopClock()
    try {
      await chat({ ...conversation('One'), ...SHORT_REPLY })
      clock.pass((SECONDS - 1) * 1000)
      await chat({ ...conversation('One', 'Two'), ...LONG_REPLY })
      expect(sent()).to.equal(CHEAP_INPUT)
      clock.pass((SECONDS + 1) * 1000)
      await chat({ ...conversation('One', 'Two', 'Three'), ...LONG_REPLY })
      expect(sent()).to.equal(CHEAP_OUTPUT)
    } finally {
      clock.restore()
    }
  })

  it('belong to one user, whatever key asks', async () => {
    const headers = { 'x-session-id': 'one' }
    await chat({ ...conversation('One'), ...SHORT_REPLY }, headers)
    await chat({ ...conversation('One'), ...LONG_REPLY }, headers, await newUser(gateway))
    expect(sent()).to.equal(CHEAP_OUTPUT)
    const { key } = await user.issueKey()
    await chat({ ...conversation('One'), ...LONG_REPLY }, { ...headers, authorization: `Bearer ${key}` })
    expect(sent()).to.equal(CHEAP_INPUT)
  })

  it('do not stay with a model that the key may not use', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    const restricted = { models: [CHEAP_OUTPUT] }
    const { body } = await asAdmin(gateway, 'POST', `/admin/users/${user.id}/keys`, restricted)
    const authorization = `Bearer ${body.data.key}`
    await chat({ ...conversation('One', 'Two'), ...LONG_REPLY }, { authorization })
    expect(sent()).to.equal(CHEAP_OUTPUT)
  })

  it('do not stay with a model that cannot serve the request', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }]
    const { body } = await chat({ ...conversation('One', 'Two'), ...SHORT_REPLY, tools })
    expect(sent()).to.equal(CHEAP_OUTPUT)
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
  })

  it('give way to models that are named, preferred or set, and to another mode', async () => {
    await chat({ ...conversation('One'), ...SHORT_REPLY })
    await chat({ ...conversation('One'), ...LONG_REPLY, model: CHEAP_OUTPUT })
    expect(sent()).to.equal(CHEAP_OUTPUT)
    const direct = async (body: object) => {
      const prompt = conversation('One').messages[0].content
      expect((await user.route({ prompt, cost_priority: 'cost', ...body })).status).to.equal(200)
      return sent()
    }
    expect(await direct(SHORT_REPLY)).to.equal(CHEAP_INPUT)
    expect(await direct(LONG_REPLY)).to.equal(CHEAP_INPUT)
    expect(await direct({ ...LONG_REPLY, model_preferences: [CHEAP_OUTPUT] })).to.equal(CHEAP_OUTPUT)
    const { body } = await chat({ ...conversation('One'), ...LONG_REPLY, model: 'auto:quality' })
    expect(body.signalbox).not.to.have.property('kept_for_prompt_cache')
    await user.call('POST', '/v1/routing-rules', routingRule({ set_model: CHEAP_OUTPUT }))
    await chat({ ...conversation('One'), ...LONG_REPLY })
    expect(sent()).to.equal(CHEAP_OUTPUT)
  })
})

describe('deployments with routing.sticky', function () {
  this.timeout(60_000)

  it('keep the conversations that they have in their cache', async () => {
    const provider = await startScriptedProvider()
    playUsage(provider)
    const deployments = ['one', 'two'].map((id) => ({ id, key: `${id.toUpperCase()}_KEY` }))
    const settings = stickySettings(provider.url, { more: { auth: undefined, deployments } })
    const keys = { ONE_KEY: 'key-one', TWO_KEY: 'key-two' }
    const gateway = await startGateway({ ...(await withSettings(settings)), ...keys })
    const ask = async (...texts: readonly string[]) => {
      const body = { model: 'auto:cost', ...conversation(...texts), ...LONG_REPLY }
      const { status } = await gateway.call('POST', '/v1/chat/completions', body)
      expect(status).to.equal(200)
      return provider.last()?.headers.authorization
    }
    const firsts = [await ask('One'), await ask('Two'), await ask('Three')]
    expect(new Set(firsts).size).to.equal(2)
    for (const more of ['more', 'and more', 'and still more'])
      for (const [index, text] of ['One', 'Two', 'Three'].entries())
        expect(await ask(text, more)).to.equal(firsts[index])
    await gateway.stop()
    provider.close()
  })
})

describe('sticky choices that are decided again', function () {
  this.timeout(120_000)

  it('are those that were recorded, although the conversation is forgotten', async () => {
    const provider = await startScriptedProvider()
    playUsage(provider)
    const settings = {
      ...(await withSettings(`${stickySettings(provider.url)}ledger: { record_prompts: full }\n`)),
      RECORD_KEY: randomBytes(32).toString('base64'),
    }
    const first = await startGatewayOnFiles(settings)
    const request = { model: 'auto:cost', ...conversation('One', 'Two'), ...LONG_REPLY }
    await first.call('POST', '/v1/chat/completions', { ...request, ...conversation('One'), ...SHORT_REPLY })
    const { body } = await first.call('POST', '/v1/chat/completions', request)
    expect(body.signalbox).to.have.property('kept_for_prompt_cache')
    await first.stop()

    const { dataDir, demoKey } = first
    const second = await startGatewayOnFiles(settings, { dataDir, demoKey })
    const { data } = (await asAdmin(second, 'POST', '/admin/what-if', { file: {} })).body
    expect(data.reproduced).to.deep.equal({ same: 2, different: 0, explained: [] })
    const [{ user_id }] = (await asAdmin(second, 'GET', '/admin/requests')).body.data
    const simulate = async (more: object) =>
      (await asAdmin(second, 'POST', '/admin/simulate', { user_id, request, ...more })).body.data
    const again = await simulate({ request_id: body.x_request_id })
    expect(again.targets[0].model).to.equal(CHEAP_INPUT)
    expect(again.routing_reason).to.equal(`Kept for the prompt cache: lab/${CHEAP_INPUT}.`)
    expect((await simulate({})).targets[0].model).to.equal(CHEAP_OUTPUT)
    await second.stop()
    provider.close()
  })
})
