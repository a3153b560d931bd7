import { once } from 'node:events'
import { symlink } from 'node:fs/promises'
import type { Socket } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import OpenAI from 'openai'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { readLog } from '../support/gateway-log.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { openSocket } from '../support/raw-http.ts'
import { ROOT } from '../support/root.ts'

const FAILING = 'Which track? [[sandbox:error-mid=3 token-delay=10]]'
const LAST_CHUNK = '0\r\n\r\n'

interface Endpoint {
  readonly path: string
  /** The dialect has an event that ends a failed stream. */
  readonly hasErrorEvent?: true
  readonly body: (text: string) => object
}

const ENDPOINTS: Readonly<Record<'chat completions' | 'completions' | 'responses' | 'messages', Endpoint>> = {
  'chat completions': {
    path: '/v1/chat/completions',
    body: (content: string) => ({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content }] }),
  },
  completions: {
    path: '/v1/completions',
    body: (prompt: string) => ({ model: 'gpt-4o', stream: true, prompt }),
  },
  responses: {
    path: '/v1/responses',
    hasErrorEvent: true,
    body: (input: string) => ({ model: 'gpt-4o', stream: true, input }),
  },
  messages: {
    path: '/v1/messages',
    hasErrorEvent: true,
    body: (content: string) => ({
      ...{ model: 'gpt-4o', max_tokens: 1000, stream: true },
      messages: [{ role: 'user', content }],
    }),
  },
}

const MIDDLEWARE = {
  'the built-in plugins': undefined,
  'third-party middleware': 'export default (ctx, next) => next()',
  'middleware that replaces the body': `import { Readable } from 'node:stream'
export default async (ctx, next) => {
  await next()
  const { body } = ctx
  if (body instanceof Readable) ctx.body = Readable.from((async function* () { yield* body })())
}`,
}

for (const [chain, source] of Object.entries(MIDDLEWARE)) {
  describe(`a stream that fails, with ${chain}`, () => {
    let gateway: RunningGateway
    before(async () => {
      if (source === undefined) {
        gateway = await startGateway()
        return
      }
      const pluginFolder = await installAll({ middleware: source })
      const name = 'koa-compress'
      const installed = fileURLToPath(new URL(`node_modules/${name}`, ROOT))
      await symlink(installed, path.join(pluginFolder, 'node_modules', name))
      const CONFIG = await listPlugins(pluginFolder, [name, 'middleware', ...BUILT_IN])
      gateway = await startGateway({ CONFIG }, { pluginFolder })
    })
    after(() => gateway.stop())

    const toRequest = ({ path, body }: Endpoint, content: string) => {
      const json = JSON.stringify(body(content))
      return [
        `POST ${path} HTTP/1.1`,
        'host: gateway',
        `authorization: Bearer ${gateway.demoKey}`,
        'content-type: application/json',
        `content-length: ${Buffer.byteLength(json)}`,
        '',
        json,
      ].join('\r\n')
    }

    /** What arrives before the other side ends the connection, which it must not reset. */
    async function readToFin(socket: Socket): Promise<string> {
      let text = ''
      socket.on('data', (bytes) => {
        text += bytes
      })
      await once(socket, 'end')
      return text
    }

    async function readToLastChunk(socket: Socket): Promise<string> {
      let text = ''
      while (!text.endsWith(LAST_CHUNK)) text += (await once(socket, 'data'))[0]
      return text
    }

    for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
      const end = endpoint.hasErrorEvent ? 'as other streams do' : 'without the last chunk'
      it(`ends with an error record and ${end} (${name})`, async () => {
        const socket = await openSocket(gateway.url)
        socket.write(toRequest(endpoint, FAILING))
        const text = await (endpoint.hasErrorEvent ? readToLastChunk(socket) : readToFin(socket))
        const records = readRecords(text)
        const error = records.at(-1).error ?? records.at(-1).response.error
        expect(error.message).to.equal('The provider returned a server error.')
        expect(records.length).to.be.above(2)
        expect(text.endsWith(LAST_CHUNK)).to.equal(endpoint.hasErrorEvent === true)
        expect(text).not.to.contain('[DONE]')
      })
    }

    it('ends behind the responses of earlier requests on the connection', async () => {
      const socket = await openSocket(gateway.url)
      const { 'chat completions': chat } = ENDPOINTS
      const slow = toRequest(chat, 'Which track? [[sandbox:first-byte=300]]')
      socket.write(slow + toRequest(chat, FAILING))
      const [first = '', second = '', ...rest] = (await readToFin(socket)).split(LAST_CHUNK)
      expect(first).to.contain('[DONE]')
      expect(second).to.contain('The provider returned a server error.')
      expect(rest).to.deep.equal([])
    })

    it('keeps the connection after a stream that succeeds', async () => {
      const socket = await openSocket(gateway.url)
      const { 'chat completions': chat } = ENDPOINTS
      for (let request = 0; request < 2; request++) {
        socket.write(toRequest(chat, 'Which track?'))
        expect(await readToLastChunk(socket)).to.contain('[DONE]')
      }
      socket.destroy()
    })

    it('is an error of the official client, with the message of the record', async () => {
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.demoKey, maxRetries: 2 })
      const messages = [{ role: 'user' as const, content: FAILING }]
      const stream = await client.chat.completions.create({ model: 'gpt-4o', stream: true, messages })
      let text = ''
      const error = await (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      })().catch((thrown) => thrown)
      expect(text).not.to.equal('')
      expect(error).to.be.instanceOf(OpenAI.APIError)
      expect(error.error).to.include({ code: 'provider_error', http_status: 502 })
    })

    it('gives the official client of the Responses API the failed response at its end', async () => {
      const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.demoKey })
      const stream = await client.responses.create({ model: 'gpt-4o', stream: true, input: FAILING })
      let last: OpenAI.Responses.ResponseStreamEvent | undefined
      for await (const event of stream) last = event
      if (last?.type !== 'response.failed') expect.fail(`It ends with ${last?.type}.`)
      expect(last.response.error?.code).to.equal('server_error')
    })

    it('is not taken for a client that disconnected', async () => {
      const labels = { endpoint: '/v1/chat/completions' }
      const before = await scrapeUntil(gateway, () => true)
      const requests = (status: string, metrics = before) =>
        metrics.sum('signalbox_http_requests_total', { ...labels, status })
      const socket = await openSocket(gateway.url)
      socket.write(toRequest(ENDPOINTS['chat completions'], FAILING))
      const after = await scrapeUntil(gateway, (metrics) => requests('200', metrics) === requests('200') + 1)
      expect(requests('client_disconnected', after)).to.equal(0)
      const lines = readLog(gateway).filter(({ msg }) => msg === 'request')
      expect(lines.map(({ status }) => status)).not.to.include('client_disconnected')
      socket.destroy()
    })
  })
}
