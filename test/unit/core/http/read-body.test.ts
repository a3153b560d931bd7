import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import Koa from 'koa'
import { GatewayError } from '../../../../core/contract/index.ts'
import { BodyQuota } from '../../../../core/http/body-quota.ts'
import { createBodyReader } from '../../../../core/http/read-body.ts'
import { type Listener, listen } from '../../../../core/http/server/hardened-server.ts'
import { openSocket, readToEnd } from '../../../support/raw-http.ts'
import { waitUntil } from '../../../support/wait.ts'

const LIMIT = 200_000

const QUOTA = 1_000_000

/** Ways to send the same bytes. */
const TRANSFERS: Record<string, (url: string, body: Buffer) => Promise<string>> = {
  'with a content length': (url, body) => post(url, [body], { 'content-length': body.length }),
  'with a content length, in several writes': (url, body) =>
    post(url, [body.subarray(0, 11), body.subarray(11)], { 'content-length': body.length }),
  chunked: (url, body) => post(url, [body], {}),
  compressed: (url, body) => post(url, [gzipSync(body)], { 'content-encoding': 'gzip' }),
}

/** Sends each piece after the previous one was written. */
async function post(url: string, pieces: readonly Buffer[], headers: Record<string, string | number>) {
  const sent = request(url, { method: 'POST', headers })
  sent.setNoDelay(true)
  const responded = once(sent, 'response')
  for (const piece of pieces) {
    await new Promise((resolve) => sent.write(piece, resolve))
    await setImmediate()
  }
  sent.end()
  const [response] = await responded
  return text(response)
}

describe('reading a request body', () => {
  let listener: Listener
  /** Bytes that are kept for requests that have not ended. */
  let kept = 0
  /** The error of the last rejected request. */
  let lastError: unknown

  before(async () => {
    const quota = new BodyQuota({ perOwner: QUOTA, total: QUOTA })
    const read = createBodyReader(LIMIT, quota, (_, bytes) => {
      kept += bytes.length
      return () => {
        kept -= bytes.length
      }
    })
    const app = new Koa()
    app.use(async (ctx) => {
      ctx.client = { onClose: (notify: () => void) => ctx.res.once('close', notify) }
      if (ctx.path === '/late') await once(ctx.req.socket, 'close')
      try {
        // The cast is safe: the reader uses only Koa's own context.
        await read(ctx as never)
        ctx.body = { read: ctx.request.body ?? null, ...(ctx.path === '/kept' && { kept }) }
      } catch (error) {
        lastError = error
        const { code, message } = error as GatewayError
        ctx.body = { code, message }
      }
    })
    listener = await listen(app, '127.0.0.1', 0)
  })
  after(() => listener.stop(0))

  it('keeps the bytes of an object until the response has ended', async () => {
    const body = Buffer.from('{"a":[1]}')
    expect(JSON.parse(await post(`${listener.url}/kept`, [body], {})).kept).to.equal(body.length)
    await waitUntil(() => kept === 0)
    expect(JSON.parse(await post(`${listener.url}/kept`, [Buffer.from('[1]')], {})).kept).to.equal(0)
  })

  for (const [transfer, send] of Object.entries(TRANSFERS)) {
    describe(`sent ${transfer}`, () => {
      const sendBody = async (body: string | Buffer) =>
        JSON.parse(await send(listener.url, Buffer.from(body)))
      const malformed = { code: 'malformed_body', message: 'The request body is not valid JSON.' }

      it('parses JSON with any content', async () => {
        const value = { text: 'ä€😀\u2028"\\', list: [1, null, true], nested: { deep: [[]] } }
        expect(await sendBody(JSON.stringify(value))).to.deep.equal({ read: value })
      })
      it('strips a byte order mark', async () => {
        expect(await sendBody('\ufeff{"a":"b, and a few more"}')).to.deep.equal({
          read: { a: 'b, and a few more' },
        })
      })
      it('accepts a body of exactly the maximum size and rejects a larger one', async () => {
        const fill = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
        expect((await sendBody(fill(LIMIT))).read.a).to.have.length(LIMIT - 8)
        expect(await sendBody(fill(LIMIT + 1))).to.deep.equal({
          code: 'body_too_large',
          message: `The request body exceeds the limit of ${LIMIT} bytes.`,
        })
      })
      it('rejects anything but a JSON object or array', async () => {
        for (const body of [
          '{"messages": [',
          'model=gpt-4o&n=1',
          '{"a":1} and more',
          '{"a":"\u0000 in it"}',
          '"text"',
          'null',
        ])
          expect(await sendBody(body), body).to.deep.equal(malformed)
      })
      it('rejects a key that would set the prototype of an object', async () => {
        for (const name of ['__proto__', '\\u005f_proto__']) {
          expect(await sendBody(`{"a":{"${name}":{"admin":true}}}`), name).to.deep.equal(malformed)
        }
      })
      it('accepts that name inside a string', async () => {
        expect(await sendBody('{"a":"\\"__proto__\\": 1"}')).to.deep.equal({ read: { a: '"__proto__": 1' } })
      })
    })
  }

  it('decompresses gzip, deflate and br', async () => {
    const body = Buffer.from('{"a":1}')
    const encodings = { gzip: gzipSync(body), deflate: deflateSync(body), br: brotliCompressSync(body) }
    for (const [encoding, bytes] of Object.entries(encodings)) {
      const response = await post(listener.url, [bytes], { 'content-encoding': encoding })
      expect(response, encoding).to.equal('{"read":{"a":1}}')
    }
  })

  it('reads an empty body as none, chunked or not', async () => {
    for (const headers of [{ 'content-length': 0 }, { 'transfer-encoding': 'chunked' }, {}])
      expect(await post(listener.url, [], headers)).to.equal('{"read":null}')
  })

  for (const [when, path] of Object.entries({ 'during the body': '/', 'before the body is read': '/late' })) {
    it(`rejects when the client disconnects ${when}`, async () => {
      lastError = undefined
      const socket = await openSocket(listener.url)
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"a":`)
      await setImmediate()
      socket.destroy()
      await readToEnd(socket)
      await waitUntil(() => lastError !== undefined)
      expect(lastError).to.be.instanceOf(GatewayError)
    })
  }
})
