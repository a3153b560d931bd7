import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { installAll } from '../support/plugins.ts'
import { chunk, completion } from '../support/scripted-provider.ts'
import { writeSettings } from '../support/settings-file.ts'

/**
 * Formats of a package: records in lines, records behind their length with a checksum, as cloud providers
 * frame them, and requests with a signature.
 */
const PACKAGE = `
import { createHmac } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { chatAdapter } from 'signalbox'

const frames = {
  createReader() {
    let rest = Buffer.alloc(0)
    return {
      read(bytes) {
        rest = Buffer.concat([rest, bytes])
        const records = []
        while (rest.length >= 4 && rest.length >= rest.readUInt32BE() + 5) {
          const payload = rest.subarray(4, rest.readUInt32BE() + 4)
          const sum = payload.reduce((sum, byte) => sum ^ byte, 0)
          if (sum !== rest[payload.length + 4]) throw new Error('checksum')
          records.push({ event: '', data: payload.toString() })
          rest = rest.subarray(payload.length + 5)
        }
        return records
      },
      end() {
        if (rest.length > 0) throw new Error('cut off')
        return []
      },
    }
  },
}

async function authorize({ method, url, headers, body, apiKey }, signal) {
  if (body.includes('fail')) throw new Error('the token is ' + apiKey)
  if (body.includes('invalid')) return { 'x-signature': 'a\\nb' }
  if (body.includes('hang')) await setTimeout(60_000, undefined, { signal })
  const text = [method, url.pathname, headers['content-type'], body].join(' ')
  return { 'x-signature': createHmac('sha256', apiKey).update(text).digest('hex') }
}

export default {
  name: 'framed',
  contract: 3,
  setup: () => ({
    providers: [
      chatAdapter({ format: 'lines', fields: {}, frames: 'ndjson' }),
      chatAdapter({ format: 'framed', fields: {}, frames }),
      chatAdapter({ format: 'signed', fields: {}, buildAuthHeaders: () => ({}), authorize }),
    ],
  }),
}
`

const KEY = 'sk-a-secret-of-the-provider'
const CHUNKS = [chunk({ content: 'Grüße, ' }), chunk({ content: 'Gleis 9 🚂' }, 'stop')]
const TEXT = 'Grüße, Gleis 9 🚂'

const toLines = (records: readonly object[]) =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))

function toFrames(records: readonly object[]): Buffer {
  const frames = records.map((record) => {
    const payload = Buffer.from(JSON.stringify(record))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(payload.length)
    return Buffer.concat([length, payload, Buffer.of(payload.reduce((sum, byte) => sum ^ byte, 0))])
  })
  return Buffer.concat(frames)
}

const FRAMINGS = {
  lines: { encode: toLines, type: 'application/x-ndjson' },
  framed: { encode: toFrames, type: 'application/vnd.amazon.eventstream' },
}

describe('formats of a package with frames and signatures of their own', () => {
  let server: Server
  let gateway: RunningGateway
  let answer: { type: string; pieces: readonly Uint8Array[] }
  let received: { request: IncomingMessage; body: Buffer } | undefined

  before(async () => {
    server = createServer(async (request, response) => {
      received = { request, body: await buffer(request) }
      response.writeHead(200, { 'content-type': answer.type })
      for (const piece of answer.pieces) {
        response.write(piece)
        await setImmediate()
      }
      response.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const pluginFolder = await installAll({ framed: PACKAGE })
    const base_url = `http://127.0.0.1:${port}/v1`
    const rows = ['lines', 'framed', 'signed'].map((id) => [
      id,
      { format: id, base_url, key_variable: 'THE_KEY' },
    ])
    const CONFIG = await writeSettings(
      dump({
        plugins: { add: ['framed'] },
        providers: Object.fromEntries(rows),
        rate_limits: { requests_per_minute: { free: null, paid: null } },
        timeouts: { first_byte_ms: 1000 },
      }),
    )
    gateway = await startGateway({ CONFIG, THE_KEY: KEY }, { pluginFolder })
  })
  after(async () => {
    await gateway?.stop()
    server.close()
  })

  const requestOf = (id: string, content = 'Hi') => ({
    model: `${id}:loco-1`,
    messages: [{ role: 'user' as const, content }],
  })
  const ask = (id: string, content?: string) =>
    gateway.call('POST', '/v1/chat/completions', requestOf(id, content))

  /** Returns the text of a stream, and the error that ended it. */
  async function readStream(id: string): Promise<{ text: string; error?: string }> {
    let text = ''
    try {
      const stream = await gateway.openai().chat.completions.create({ ...requestOf(id), stream: true })
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
      return { text }
    } catch (error) {
      return { text, error: (error as Error).message }
    }
  }

  for (const [id, { encode, type }] of Object.entries(FRAMINGS)) {
    describe(id, () => {
      it('answers whole', async () => {
        const body = Buffer.from(JSON.stringify(completion({ content: TEXT })))
        answer = { type: 'application/json', pieces: [body] }
        const { status, body: reply } = await ask(id)
        expect(status, JSON.stringify(reply)).to.equal(200)
        expect(reply.choices[0].message.content).to.equal(TEXT)
      })

      it('answers in a stream that is split at any byte', async () => {
        const bytes = encode(CHUNKS)
        for (let cut = 0; cut < bytes.length; cut += 7) {
          answer = { type, pieces: [bytes.subarray(0, cut), bytes.subarray(cut)] }
          expect(await readStream(id), `cut at ${cut}`).to.deep.equal({ text: TEXT })
        }
        answer = { type, pieces: Array.from(bytes, (byte) => Buffer.of(byte)) }
        expect(await readStream(id)).to.deep.equal({ text: TEXT })
      })

      it('ends a stream with a malformed or incomplete record with an error', async () => {
        const first = encode(CHUNKS.slice(0, 1))
        const broken = Buffer.from(encode(CHUNKS.slice(1)))
        broken[broken.length - 2] = 0x23
        for (const last of [broken, broken.subarray(0, -3)]) {
          answer = { type, pieces: [first, last] }
          const { error } = await readStream(id)
          expect(error).to.contain('The provider sent a malformed stream record.')
        }
        answer = { type, pieces: [first] }
        expect((await readStream(id)).error).to.contain('ended before it was complete')
      })
    })
  }

  describe('a signature', () => {
    beforeEach(() => {
      answer = {
        type: 'application/json',
        pieces: [Buffer.from(JSON.stringify(completion({ content: 'Hi' })))],
      }
      received = undefined
    })

    it('covers what is sent', async () => {
      const { createHmac } = await import('node:crypto')
      expect((await ask('signed', 'Grüße')).status).to.equal(200)
      const { request, body } = received ?? expect.fail('nothing was sent')
      const text = `POST /v1/chat/completions application/json ${body}`
      const signature = createHmac('sha256', KEY).update(text).digest('hex')
      expect(request.headers).to.include({ 'x-signature': signature }).and.not.have.property('authorization')
    })

    for (const content of ['fail', 'invalid']) {
      it(`that cannot be made fails the call without a secret (${content})`, async () => {
        const { status, body, headers } = await ask('signed', content)
        expect(status, JSON.stringify(body)).to.equal(502)
        expect(headers.get('x-error-code')).to.equal('provider_authentication_error')
        expect(body.error.message).to.contain('signed could not be authenticated with')
        expect(JSON.stringify(body) + gateway.stderr()).not.to.contain(KEY)
        expect(received).to.equal(undefined)
      })
    }

    it('is waited for as long as for the provider', async () => {
      const { status, headers } = await ask('signed', 'hang')
      expect(status).to.equal(504)
      expect(headers.get('x-error-code')).to.equal('provider_timeout')
      expect(received).to.equal(undefined)
    })
  })
})
