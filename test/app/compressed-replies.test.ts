import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import zlib from 'node:zlib'
import { expect } from 'chai'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { itInFull, sample } from '../support/rounds.ts'
import { chunk, completion } from '../support/scripted-provider.ts'
import { withSettings } from '../support/settings.ts'
import { post, receivedText } from '../support/streams.ts'

type Compressor = zlib.Gzip | zlib.BrotliCompress

/** How to compress, by content encoding; `deflate` in both forms that servers send. */
const ENCODINGS: Readonly<Record<string, () => Compressor>> = {
  gzip: zlib.createGzip,
  'x-gzip': zlib.createGzip,
  GZIP: zlib.createGzip,
  deflate: zlib.createDeflate,
  'deflate (raw)': zlib.createDeflateRaw,
  br: zlib.createBrotliCompress,
}
const { createZstdCompress } = zlib as { createZstdCompress?: () => Compressor }
if (createZstdCompress !== undefined) Object.assign(ENCODINGS, { zstd: createZstdCompress })

const headerOf = (encoding: string) => encoding.replace(' (raw)', '')

const toRecord = (record: object) => `data: ${JSON.stringify(record)}\n\n`

/** As much as 300 MiB: gzip files behind each other are one. */
const BOMB = Buffer.concat(Array(30).fill(zlib.gzipSync(Buffer.alloc(10 * 2 ** 20, ' '))))

describe('compressed replies', () => {
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let provider: Server
  let gateway: RunningGateway
  before(async () => {
    provider = createServer((request, response) => {
      request.resume()
      answer(request, response)
    })
    await once(provider.listen(0, '127.0.0.1'), 'listening')
    const { port } = provider.address() as AddressInfo
    gateway = await startGateway({
      ...(await withSettings('breaker: { min_requests: 1000 }\n')),
      OPENAI_API_KEY: 'key-of-openai',
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
    })
  })
  after(async () => {
    await gateway.stop()
    provider.close()
    provider.closeAllConnections()
  })

  function ask(stream: boolean): Promise<Response> {
    const messages = [{ role: 'user', content: 'Hello' }]
    return post(gateway, '/v1/chat/completions', { model: 'openai:gpt-4o', stream, messages })
  }

  const answerWith = (bytes: Buffer, headers: Readonly<Record<string, string>>, status = 200) => {
    answer = (_, response) =>
      void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(bytes)
  }

  async function failure(stream: boolean): Promise<string> {
    const response = await ask(stream)
    return `${response.status}: ${JSON.parse(await receivedText(response)).error.message}`
  }

  it('are not asked for', async () => {
    let asked: string | undefined
    answer = ({ headers }, response) => {
      asked = String(headers['accept-encoding'])
      response
        .writeHead(200, { 'content-encoding': 'identity' })
        .end(JSON.stringify(completion({ content: 'Hi' })))
    }
    const { choices } = JSON.parse(await receivedText(await ask(false)))
    expect(choices[0].message.content).to.equal('Hi')
    expect(asked).to.equal('identity')
  })

  for (const [name, create] of Object.entries(ENCODINGS)) {
    it(`are decompressed: ${name}, whole`, async () => {
      answer = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': headerOf(name) })
        const compressor = create()
        compressor.pipe(response)
        compressor.end(JSON.stringify(completion({ content: 'Grüße '.repeat(50_000) })))
      }
      const { choices } = JSON.parse(await receivedText(await ask(false)))
      expect(choices[0].message.content).to.equal('Grüße '.repeat(50_000))
    })

    it(`are decompressed: ${name}, streamed, each piece as it arrives`, async () => {
      let goOn: () => void = () => {}
      answer = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': headerOf(name) })
        const compressor = create()
        compressor.pipe(response)
        let count = 0
        goOn = () => {
          count += 1
          if (count <= 3) {
            compressor.write(toRecord(chunk({ content: `part ${count}` })))
            compressor.flush()
          } else compressor.end(`${toRecord(chunk({}, 'stop'))}data: [DONE]\n\n`)
        }
        goOn()
      }
      const { body } = await ask(true)
      let text = ''
      let count = 1
      for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
        text += piece
        // The provider sends the next part when this one has arrived.
        if (count <= 3 && text.includes(`part ${count}`)) {
          count += 1
          goOn()
        }
      }
      expect(count).to.equal(4)
      expect(text).to.contain('"finish_reason":"stop"').and.contain('[DONE]')
    })

    it(`are decompressed completely for a client that pauses: ${name}`, async () => {
      const parts = Array.from({ length: 400 }, (_, index) => `${index} ${'x'.repeat(10_000)} `)
      answer = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': headerOf(name) })
        const compressor = create()
        compressor.pipe(response)
        for (const content of parts) compressor.write(toRecord(chunk({ content })))
        compressor.end(`${toRecord(chunk({}, 'stop'))}data: [DONE]\n\n`)
      }
      const records = readRecords(await receivedText(await ask(true)))
      const text = records.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
      expect(text === parts.join('')).to.equal(true)
    })
  }

  it('are decompressed in error responses', async () => {
    const error = { message: 'Not this one.', type: 'invalid_request_error', param: 'seed', code: null }
    answerWith(zlib.gzipSync(JSON.stringify({ error })), { 'content-encoding': 'gzip' }, 400)
    for (const stream of [false, true]) expect(await failure(stream)).to.match(/^400: .*Not this one\./)
  })

  for (const encoding of ['zip', 'gzip, br', 'constructor']) {
    it(`are refused in an unsupported encoding: ${encoding}`, async () => {
      answerWith(Buffer.from('whatever'), { 'content-encoding': encoding })
      for (const stream of [false, true]) {
        const message = '502: openai sent a response with an unsupported content-encoding.'
        expect(await failure(stream)).to.equal(message)
      }
    })

    it(`keep the status of an error in an unsupported encoding: ${encoding}`, async () => {
      answerWith(Buffer.from('whatever'), { 'content-encoding': encoding }, 429)
      for (const stream of [false, true]) expect(await failure(stream)).to.match(/^429: /)
    })
  }

  it('are refused if they are not what they say', async () => {
    answerWith(Buffer.from('{"choices": []}'), { 'content-encoding': 'gzip' })
    for (const stream of [false, true])
      expect(await failure(stream)).to.equal('502: openai sent a response that cannot be decompressed.')
    answerWith(Buffer.from('Not found'), { 'content-encoding': 'gzip' }, 500)
    for (const stream of sample([true, false], 1))
      expect(await failure(stream)).not.to.contain('decompressed')
  })

  it('are refused if they end early', async () => {
    const bytes = zlib.gzipSync(JSON.stringify(completion({ content: 'Hello. '.repeat(1000) })))
    answerWith(bytes.subarray(0, bytes.length / 2), { 'content-encoding': 'gzip' })
    for (const stream of [false, true]) expect(await failure(stream)).to.match(/^502: openai sent/)
  })

  it('may be empty', async () => {
    answerWith(Buffer.alloc(0), { 'content-encoding': 'gzip' }, 503)
    for (const stream of [false, true]) expect(await failure(stream)).to.match(/^50\d: /)
  })

  itInFull('are refused when they exceed 64 MiB uncompressed', async () => {
    answerWith(BOMB, { 'content-encoding': 'gzip' })
    for (const stream of sample([false, true], 1))
      expect(await failure(stream)).to.equal('502: openai sent a reply larger than 64 MiB.')
  })

  it('are cut off in error responses, however large they are uncompressed', async () => {
    answerWith(BOMB, { 'content-encoding': 'gzip' }, 500)
    for (const stream of sample([true, false], 1)) expect(await failure(stream)).to.match(/^50\d: /)
  })

  it('are refused when a record of a stream is too long uncompressed', async () => {
    answerWith(BOMB, { 'content-encoding': 'gzip', 'content-type': 'text/event-stream' })
    expect(await failure(true)).to.match(/^502: /)
  })
})
