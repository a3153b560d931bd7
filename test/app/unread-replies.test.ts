import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { createFirstUser } from '../support/first-user.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { installAll } from '../support/plugins.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { receivedText } from '../support/streams.ts'
import { waitUntil } from '../support/wait.ts'

/** What plugins do with the reply of `next`, by the header `x-do`. */
const WASTEFUL = `import { ReplyEvent } from 'signalbox'
const OWN = { type: 'whole', event: new ReplyEvent([
  { type: 'start', id: 'x', model: 'own' },
  { type: 'text', text: 'My own.' },
  { type: 'finish', reason: 'stop' },
]) }
const REPLY = {
  'drops it': async (next) => { await next(); return OWN },
  'throws behind it': async (next) => { await next(); throw new Error('broken') },
  'calls next again': async (next) => { await next(); return next() },
  'reads a part of it': async (next) => {
    const { batches } = await next()
    await batches[Symbol.asyncIterator]().next()
    return OWN
  },
  'does not wait for it': (next) => { next(); return OWN },
  'loses patience': (next) => Promise.race([next(), new Promise((resolve) => setTimeout(resolve, 5, OWN))]),
}
export default {
  name: 'wasteful', contract: 3, before: ['dispatch'],
  setup: () => ({
    reply: ({ headers }, next) => REPLY[headers['x-do']]?.(next) ?? next(),
    inspect({ headers }) {
      if (headers['x-do'] === 'inspect throws') return { transform() { throw new Error('broken') } }
    },
  }),
}`

const REPLACING = `export default async (ctx, next) => {
  await next()
  if (ctx.get('x-do') === 'middleware replaces it') ctx.body = { mine: true }
  if (ctx.get('x-do') === 'middleware throws') ctx.throw(418)
}`

/** A provider in OpenAI's format whose streams do not end. */
class OpenProvider {
  readonly #server: Server
  readonly #open = new Set<ServerResponse>()
  #whenClosed: (() => void) | undefined
  requests = 0
  /** Before the head of the response is sent, in milliseconds. */
  delayMs = 0

  constructor() {
    this.#server = createServer((request, response) => {
      request.resume()
      this.requests += 1
      this.#open.add(response)
      response.once('close', () => {
        this.#open.delete(response)
        if (this.#open.size === 0) this.#whenClosed?.()
      })
      sleep(this.delayMs).then(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(RECORD)
      })
    })
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** Resolves when no stream is open. */
  closed(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenClosed = resolve
      if (this.#open.size === 0) resolve()
    })
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
const DELTA = { role: 'assistant', content: 'theirs' }
const RECORD = `data: ${JSON.stringify({ ...CHUNK, choices: [{ index: 0, delta: DELTA }] })}\n\n`

describe("a provider's stream that nobody reads is closed if", () => {
  const provider = new OpenProvider()
  let gateway: RunningGateway
  let authorization: string
  before(async () => {
    const pluginFolder = await installAll({ wasteful: WASTEFUL, replacing: REPLACING })
    const environment = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: await provider.listen() }
    const add = [
      { use: 'replacing', after: 'auth' },
      { use: 'wasteful', before: 'dispatch' },
    ]
    const settings = await withSettings(`${UNLIMITED}plugins: ${JSON.stringify({ add })}\n`)
    gateway = await startGateway({ ...settings, ...environment }, { pluginFolder })
    authorization = `Bearer ${await createFirstUser(gateway.url, ADMIN_KEY)}`
  })
  after(async () => {
    await gateway?.stop()
    provider.stop()
  })

  for (const [what, status, expected] of [
    ['drops it', 200, 'My own.'],
    ['reads a part of it', 200, 'My own.'],
    ['throws behind it', 500, 'internal_error'],
    ['calls next again', 500, 'internal_error'],
    ['does not wait for it', 200, 'My own.'],
    ['loses patience', 200, 'My own.'],
    ['inspect throws', 200, 'internal_error'],
    ['middleware replaces it', 200, '{"mine":true}'],
    ['middleware throws', 418, 'refused'],
  ] as const) {
    it(`a plugin ${what}`, async () => {
      provider.delayMs = what === 'loses patience' || what === 'does not wait for it' ? 50 : 0
      const { requests } = provider
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'x-do': what },
        body: JSON.stringify(chatBody('Hi', { stream: true })),
      })
      expect(response.status).to.equal(status)
      const text = await receivedText(response)
      expect(text).to.contain(expected)
      expect(text).not.to.contain('theirs')
      await waitUntil(() => provider.requests > requests)
      await provider.closed()
      expect(provider.requests).to.equal(requests + 1)
    })
  }
})
