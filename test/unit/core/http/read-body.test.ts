import { once } from 'node:events'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect } from 'chai'
import Koa from 'koa'
import { GatewayError } from '../../../../core/contract/index.ts'
import { createBodyReader } from '../../../../core/http/read-body.ts'
import { type Listener, listen } from '../../../../core/http/server/listen.ts'
import { openSocket, readToEnd } from '../../../support/raw-http.ts'

const LIMIT = 200_000

/** Ways to send the same bytes. */
const WAYS: Record<string, (url: string, body: Buffer) => Promise<string>> = {
  'with its length': (url, body) => post(url, [body], { 'content-length': body.length }),
  'with its length, in pieces': (url, body) =>
    post(url, [body.subarray(0, 11), body.subarray(11)], { 'content-length': body.length }),
  'in chunks': (url, body) => post(url, [body], {}),
  compressed: (url, body) => post(url, [gzipSync(body)], { 'content-encoding': 'gzip' }),
}

/** Each piece is sent once the one before it was written. */
async function post(url: string, pieces: readonly Buffer[], headers: Record<string, string | number>) {
  const sent = request(url, { method: 'POST', headers })
  sent.setNoDelay(true)
  const answered = once(sent, 'response')
  for (const piece of pieces) {
    await new Promise((resolve) => sent.write(piece, resolve))
    await setImmediate()
  }
  sent.end()
  const [response] = await answered
  return text(response)
}

describe('the body of a request', () => {
  let listener: Listener
  /** What the last request was refused with. */
  let refusal: unknown

  before(async () => {
    const read = createBodyReader(LIMIT)
    const app = new Koa()
    app.use(async (ctx) => {
      if (ctx.path === '/late') await once(ctx.req.socket, 'close')
      try {
        // The casts are safe: it needs no more than Koa's context, and a middleware gives something to wait for.
        await read(
          ctx as never,
          (async () => {
            ctx.body = { read: ctx.request.body ?? null }
          }) as never,
        )
      } catch (error) {
        refusal = error
        const { code, message } = error as GatewayError
        ctx.body = { code, message }
      }
    })
    listener = await listen(app, '127.0.0.1', 0)
  })
  after(() => listener.stop(0))

  for (const [way, send] of Object.entries(WAYS)) {
    describe(`that comes ${way}`, () => {
      const ask = async (body: string | Buffer) => JSON.parse(await send(listener.url, Buffer.from(body)))
      const refused = { code: 'malformed_body', message: 'The body is not valid JSON.' }

      it('is read as JSON, whatever is in it', async () => {
        const value = { text: 'ä€😀\u2028"\\', list: [1, null, true], nested: { deep: [[]] } }
        expect(await ask(JSON.stringify(value))).to.deep.equal({ read: value })
      })
      it('may begin with a byte order mark', async () => {
        expect(await ask('\ufeff{"a":"b, and a few more"}')).to.deep.equal({
          read: { a: 'b, and a few more' },
        })
      })
      it('may be as large as the limit, and no larger', async () => {
        const fill = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
        expect((await ask(fill(LIMIT))).read.a).to.have.length(LIMIT - 8)
        expect(await ask(fill(LIMIT + 1))).to.deep.equal({
          code: 'body_too_large',
          message: `The body is over the limit of ${LIMIT} bytes.`,
        })
      })
      it('is refused when it is no JSON', async () => {
        for (const body of [
          '{"messages": [',
          'model=gpt-4o&n=1',
          '{"a":1} and more',
          '{"a":"\u0000 in it"}',
          '"text"',
          'null',
        ])
          expect(await ask(body), body).to.deep.equal(refused)
      })
      it('is refused when it would change what objects are', async () => {
        for (const name of ['__proto__', '\\u005f_proto__']) {
          expect(await ask(`{"a":{"${name}":{"admin":true}}}`), name).to.deep.equal(refused)
        }
      })
      it('may hold that name as a text', async () => {
        expect(await ask('{"a":"\\"__proto__\\": 1"}')).to.deep.equal({ read: { a: '"__proto__": 1' } })
      })
    })
  }

  it('may be compressed as browsers know it', async () => {
    const body = Buffer.from('{"a":1}')
    const ways = { gzip: gzipSync(body), deflate: deflateSync(body), br: brotliCompressSync(body) }
    for (const [encoding, bytes] of Object.entries(ways)) {
      const answer = await post(listener.url, [bytes], { 'content-encoding': encoding })
      expect(answer, encoding).to.equal('{"read":{"a":1}}')
    }
  })

  it('is an empty object when it is empty', async () => {
    expect(await post(listener.url, [], { 'content-length': 0 })).to.equal('{"read":{}}')
  })

  for (const [when, path] of Object.entries({ 'in the middle of it': '/', 'before it is read': '/late' })) {
    it(`is not waited for when its client has left ${when}`, async () => {
      refusal = undefined
      const socket = await openSocket(listener.url)
      socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"a":`)
      await setImmediate()
      socket.destroy()
      await readToEnd(socket)
      while (refusal === undefined) await setImmediate()
      expect(refusal).to.be.instanceOf(GatewayError)
    })
  }
})
