import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type Body, DIALECTS, readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { MODELS, PROVIDERS } from '../support/providers.ts'
import { receivedText } from '../support/streams.ts'

/** Replaces the word "track" in replies, as the package that it could be. */
const REDACTOR = `import { createTextTransform } from 'signalbox'
export default {
  name: 'redactor',
  contract: 3,
  setup: () => ({
    inspect: () => createTextTransform({ pattern: /track/gi, replacement: '[word]', maxMatchLength: 5 }),
  }),
}`

/** Answers every request about a riddle itself. */
const ORACLE = `import { ReplyEvent } from 'signalbox'
export default {
  name: 'oracle',
  contract: 3,
  before: ['dispatch'],
  setup: () => ({
    reply(exchange, next) {
      if (!JSON.stringify(exchange.request.messages).includes('riddle')) return next()
      const parts = [
        { type: 'start', id: exchange.id, model: 'oracle-1' },
        { type: 'text', text: 'Forty-two.' },
        { type: 'usage', usage: { input: 3, output: 4 } },
        { type: 'finish', reason: 'stop' },
      ]
      if (exchange.headers['x-oracle'] !== 'stream') return { type: 'whole', event: new ReplyEvent(parts) }
      const batches = (async function* () {
        for (const part of parts) yield [new ReplyEvent([part])]
      })()
      return { type: 'stream', batches }
    },
  }),
}`

/** Fails at the word that the request names, after it has held back what came before. */
const TRIPWIRE = `import { GatewayError } from 'signalbox'
export default {
  name: 'tripwire',
  contract: 3,
  setup: () => ({
    inspect(exchange) {
      const word = exchange.headers['x-tripwire']
      if (word === undefined) return undefined
      let seen = ''
      return {
        transform(event) {
          seen += event.parts.map(({ text = '' }) => text).join('')
          if (seen.includes(word)) throw new GatewayError('firewall_blocked', 'Tripped.')
          return exchange.headers['x-hold'] === undefined ? [event] : []
        },
      }
    },
  }),
}`

describe('replies', () => {
  let gateway: RunningGateway
  before(async () => {
    const pluginFolder = await installAll({ redactor: REDACTOR, oracle: ORACLE, tripwire: TRIPWIRE })
    const list = ['oracle', ...BUILT_IN, 'tripwire', 'redactor']
    gateway = await startGateway({ CONFIG: await listPlugins(pluginFolder, list) }, { pluginFolder })
  })
  after(() => gateway.stop())

  async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
    const authorization = `Bearer ${gateway.demoKey}`
    return fetch(url, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  }

  describe('pass every transform of a plugin, and clients see only the result', () => {
    for (const provider of PROVIDERS) {
      for (const [name, { url, body, textOf, deltaOf, streams }] of Object.entries(DIALECTS)) {
        const request = body(MODELS[provider] ?? '', 'Which TRACK has the Track?')

        it(`${provider}, ${name}, whole`, async () => {
          const response = await post(url(gateway), request)
          const text = await response.text()
          expect(response.status, text).to.equal(200)
          expect(textOf(JSON.parse(text))).to.contain('Which [word] has the [word]?')
          expect(text).not.to.match(/track/i)
        })

        if (!streams) continue
        it(`${provider}, ${name}, streamed`, async () => {
          const text = await (await post(url(gateway), { ...request, stream: true })).text()
          expect(readRecords(text).map(deltaOf).join('')).to.contain('Which [word] has the [word]?')
          expect(text).not.to.match(/track/i)
        })
      }
    }
  })

  describe('of a plugin that answers itself', () => {
    it('need no provider, and are decorated and counted', async () => {
      const response = await post(`${gateway.url}/v1/chat/completions`, chatBody('A riddle'))
      const body: Body = await response.json()
      expect(body.choices[0].message.content).to.equal('Forty-two.')
      expect(body.usage).to.deep.include({ prompt_tokens: 3, completion_tokens: 4 })
      expect(body).to.include({ provider: 'signalbox', routing_mode: 'balance' })
      const { data } = (await gateway.call('GET', `/v1/requests/${body.x_request_id}`)).body
      expect(data.attempts).to.deep.equal([])
    })

    it('are streamed to clients that want a stream', async () => {
      const response = await post(
        `${gateway.url}/v1/chat/completions`,
        chatBody('A riddle', { stream: true }),
      )
      const text = await response.text()
      expect(readRecords(text).map(DIALECTS['chat completions'].deltaOf).join('')).to.equal('Forty-two.')
      expect(text).to.match(/data: \[DONE\]\s*$/)
    })

    it('are collected for clients that want no stream', async () => {
      const headers = { 'x-oracle': 'stream' }
      const response = await post(`${gateway.url}/v1/chat/completions`, chatBody('A riddle'), headers)
      const body: Body = await response.json()
      expect(body.choices).to.have.length(1)
      expect(body.choices[0].message.content).to.equal('Forty-two.')
      expect(body.choices[0].finish_reason).to.equal('stop')
    })

    it('are stored like others', async () => {
      const response = await post(`${gateway.url}/v1/responses`, { input: 'A riddle' })
      const { id }: Body = await response.json()
      const { body } = await gateway.call('GET', `/v1/responses/${id}`)
      expect(DIALECTS.responses.textOf(body)).to.equal('Forty-two.')
    })
  })

  describe('that a plugin stops', () => {
    it('are an error response if nothing was sent', async () => {
      const headers = { 'x-tripwire': 'dynamite' }
      const response = await post(`${gateway.url}/v1/chat/completions`, chatBody('dynamite'), headers)
      expect(response.status).to.equal(403)
      const text = await response.text()
      expect(JSON.parse(text).error).to.include({ message: 'Tripped.', code: 'firewall_blocked' })
      expect(text).not.to.contain('dynamite')
    })

    it('end their stream with an error record, and nothing that was held back is sent', async () => {
      const headers = { 'x-tripwire': 'dynamite', 'x-hold': '1' }
      const body = chatBody('please hold dynamite', { stream: true })
      const text = await receivedText(await post(`${gateway.url}/v1/chat/completions`, body, headers))
      expect(text).to.contain('Tripped.')
      expect(text).not.to.match(/hold|dynamite/)
    })

    it('do not show the event that stopped them', async () => {
      const headers = { 'x-tripwire': 'dynamite' }
      for (const [name, { url, body, streams }] of Object.entries(DIALECTS)) {
        if (!streams) continue
        const request = { ...body('gpt-4o', 'say dynamite'), stream: true }
        const text = await receivedText(await post(url(gateway), request, headers))
        expect(text, name).to.contain('Tripped.')
        expect(text, name).not.to.contain('dynamite')
      }
    })
  })
})
