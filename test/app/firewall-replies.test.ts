import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody, firewallRuleBody } from '../support/bodies.ts'
import { type Body, DIALECTS, lastWithFields, readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'
import { pairs } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { receivedText } from '../support/streams.ts'

const EVALUATED = `${UNLIMITED}firewall: { evaluate_responses: true }\n`

/** The sandbox quotes the request, so the words of rules must not be in rules of the other scope. */
const RULES: Readonly<Record<string, object>> = {
  mask: { name: 'Mask', pattern: 'top secret', replacement: '[gone]', action: 'mask' },
  block: { name: 'Block', pattern: 'launch code', action: 'block' },
  warn: { name: 'Warn', pattern: 'be careful', action: 'warn' },
}

const WARNING = { code: 'firewall', message: 'Firewall rule "Warn" triggered.', scope: 'response' }

describe('firewall rules with the scope response', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway
  const ids: Record<string, number> = {}

  before(async () => {
    sandbox = await startSandbox({ record: 100 })
    gateway = await startGateway({ ...providersAt(sandbox), ...(await withSettings(EVALUATED)) })
    for (const [name, rule] of Object.entries(RULES)) {
      const answer = await gateway.call('POST', '/v1/firewall-rules', responseRule(rule))
      expect(answer.body).not.to.have.property('warnings')
      ids[name] = answer.body.data.id
    }
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const responseRule = (more: object) => firewallRuleBody({ scope: 'response', ...more })

  async function post(url: string, body: object): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.demoKey}`,
        'content-type': 'application/json',
        'x-include-trace': 'true',
        'x-response-form': 'openai',
      },
      body: JSON.stringify(body),
    })
  }

  const entry = (name: string) => ({
    kind: 'firewall',
    rule_id: ids[name.toLowerCase()],
    name,
    action: name.toLowerCase(),
    outcome: 'applied',
    scope: 'response',
  })

  const { route, ...named } = DIALECTS
  for (const [provider, [name, { url, body, textOf, deltaOf, streams }]] of [
    ...pairs(PROVIDERS, Object.entries(named)),
    // Direct routing names no provider.
    ['openai', ['route', route]] as const,
  ]) {
    const ask = (text: string, more: object = {}) =>
      post(url(gateway), { ...body(`${provider}:${MODELS[provider]}`, text), ...more })

    it(`mask whole replies: ${provider}, ${name}`, async () => {
      const text = await (await ask('It is TOP secret')).text()
      const answer: Body = JSON.parse(text)
      expect(textOf(answer)).to.contain('You said: "It is [gone]".')
      expect(text).not.to.match(/top secret/i)
      expect(answer.signalbox.rule_trace).to.deep.equal([entry('Mask')])
    })

    it(`block whole replies: ${provider}, ${name}`, async () => {
      const response = await ask('The launch code is 1')
      expect(response.status).to.equal(403)
      expect(response.headers.get('x-error-code')).to.equal('firewall_blocked')
      const answer: Body = await response.json()
      expect(answer.error.message).to.equal('Request blocked by firewall rule "Block".')
      expect(answer.error.meta).to.deep.equal({ rule_id: ids.block })
      expect(JSON.stringify(answer)).not.to.contain('launch')
    })

    it(`warn about whole replies: ${provider}, ${name}`, async () => {
      const answer: Body = await (await ask('Please be careful')).json()
      expect(textOf(answer)).to.contain('Please be careful')
      expect(answer.signalbox.warnings).to.deep.include(WARNING)
      expect(JSON.parse(answer.metadata.warnings)).to.deep.include(WARNING)
    })

    if (!streams) continue
    it(`mask streams: ${provider}, ${name}`, async () => {
      const text = await (await ask('It is TOP secret', { stream: true })).text()
      const records = readRecords(text)
      expect(records.map(deltaOf).join('')).to.contain('You said: "It is [gone]".')
      expect(text).not.to.match(/top s|secret/i)
      expect(lastWithFields(text).signalbox.rule_trace).to.deep.equal([entry('Mask')])
    })

    it(`end streams that they block: ${provider}, ${name}`, async () => {
      const text = await receivedText(await ask('The launch code is 1', { stream: true }))
      expect(text).to.contain('Request blocked by firewall rule \\"Block\\".')
      expect(text).not.to.match(/launch|code is/)
      expect(text).not.to.contain('[DONE]')
    })

    it(`warn on the last record of streams: ${provider}, ${name}`, async () => {
      const text = await (await ask('Please be careful', { stream: true })).text()
      const records = readRecords(text)
      expect(records.map(deltaOf).join('')).to.contain('Please be careful')
      expect(lastWithFields(text).signalbox.warnings).to.deep.include(WARNING)
    })
  }

  /** A replay is a request of its own. */
  const withoutRequestId = (text: string) => text.replaceAll(/"x_request_id":"\w+"/g, '')

  const finalResponse = (text: string): Body => readRecords(text).at(-1).response

  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'

    it(`look at reasoning: ${how}`, async () => {
      for (const provider of ['deepseek', 'anthropic']) {
        const model = `${provider}:${MODELS[provider]}`
        const body = chatBody('It is top secret', { model, stream, reasoning_effort: 'high' })
        const text = await (await post(`${gateway.url}/v1/chat/completions`, body)).text()
        expect(text).to.contain('reasoning_content').and.not.to.contain('top secret')
        expect(text.match(/\[gone\]/g)).to.have.length(2)
      }
    })

    it(`look at refusals: ${how}`, async () => {
      const rule = responseRule({ pattern: 'sandbox was asked', replacement: 'model was told' })
      const { body: made } = await gateway.call('POST', '/v1/firewall-rules', rule)
      const body = chatBody('No [[sandbox:refuse]]', { stream })
      const text = await (await post(`${gateway.url}/v1/chat/completions`, body)).text()
      await gateway.call('DELETE', `/v1/firewall-rules/${made.data.id}`)
      const refusal = stream
        ? readRecords(text)
            .map(({ choices }) => choices[0]?.delta.refusal ?? '')
            .join('')
        : JSON.parse(text).choices[0].message.refusal
      expect(refusal).to.equal('The model was told to refuse.')
    })

    it(`look at the arguments of tool calls: ${how}`, async () => {
      const parameters = {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { enum: ['very top secret'] }, b: { enum: [10.5] } },
      }
      const tools = [{ type: 'function', function: { name: 'top_secret', parameters } }]
      for (const provider of PROVIDERS) {
        const model = `${provider}:${MODELS[provider]}`
        const body = chatBody('Use top_secret', { model, stream, tools })
        const text = await (await post(`${gateway.url}/v1/chat/completions`, body)).text()
        expect(text, provider).not.to.contain('top secret')
        const calls = stream
          ? readRecords(text).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
          : JSON.parse(text).choices[0].message.tool_calls
        expect(calls[0].function.name).to.equal('top_secret')
        const json = calls.map((call: Body) => call.function.arguments).join('')
        expect(JSON.parse(json)).to.deep.equal({ a: 'very [gone]', b: 10.5 })
      }
    })

    it(`change what is stored, replayed and recorded: ${how}`, async () => {
      const response = await post(`${gateway.url}/v1/responses`, { input: 'It is top secret', stream })
      const text = await response.text()
      const { id } = stream ? finalResponse(text) : JSON.parse(text)
      const { body } = await gateway.call('GET', `/v1/responses/${id}`)
      expect(DIALECTS.responses.textOf(body)).to.contain('It is [gone]')
      expect(JSON.stringify(body.output)).not.to.contain('top secret')
      const replayed = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`, {
        headers: { authorization: `Bearer ${gateway.demoKey}` },
      })
      const replay = await replayed.text()
      if (stream) expect(withoutRequestId(replay)).to.equal(withoutRequestId(text))
      else expect(replay).to.contain('[gone]')
      const { data } = (await gateway.call('GET', `/v1/requests/${body.x_request_id}`)).body
      expect(data.outcome).to.equal('answered')
      expect(data.rule_trace).to.deep.equal([entry('Mask')])
    })

    it(`store a response that they block as failed, without the match: ${how}`, async () => {
      const response = await post(`${gateway.url}/v1/responses`, { input: 'The launch code', stream })
      await receivedText(response)
      const requestId = response.headers.get('x-request-id') ?? ''
      const { body } = await gateway.call('GET', `/v1/responses/${requestId.replace('req_', 'resp_')}`)
      expect(body).to.include({ status: 'failed' })
      expect(body.signalbox.error.code).to.equal('firewall_blocked')
      expect(JSON.stringify(body.output)).not.to.contain('launch')
      const { data } = (await gateway.call('GET', `/v1/requests/${requestId}`)).body
      expect(data).to.deep.include({ outcome: 'failed', rule_trace: [entry('Block')] })
      expect(data.error).to.include({ code: 'firewall_blocked' })
    })
  }
})
