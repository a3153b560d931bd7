import { symlink } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'

/** Reads streams as a Koa middleware may: with `for await`, `on('data')` or `pipeline`. */
const REWRITE = `import { PassThrough, Readable, Transform, pipeline } from 'node:stream'
const upper = (chunk) => String(chunk).replaceAll('track', 'TRACK')
export default async (ctx, next) => {
  await next()
  const how = ctx.get('x-rewrite')
  if (how === '') return
  ctx.set('x-type', ctx.type)
  ctx.set('x-seen', ctx.response.get('x-provider') + ' ' + ctx.response.get('x-request-id'))
  ctx.remove('x-model')
  ctx.set('x-routing-mode', 'hidden')
  const { body } = ctx
  if (!(body instanceof Readable)) {
    ctx.body = JSON.parse(upper(JSON.stringify(body)))
  } else if (how === 'for await') {
    ctx.body = Readable.from((async function* () { for await (const chunk of body) yield upper(chunk) })())
  } else if (how === 'on data') {
    const out = new PassThrough()
    body.on('data', (chunk) => out.write(upper(chunk))).on('end', () => out.end())
    ctx.body = out
  } else {
    const out = new Transform({ transform: (chunk, _, done) => done(null, upper(chunk)) })
    ctx.body = pipeline(body, out, () => undefined)
  }
}`

const PACKAGES = ['koa-compress', 'koa-etag', 'koa-conditional-get', 'koa-response-time']

describe('ordinary Koa middleware', () => {
  let gateway: RunningGateway
  before(async () => {
    const pluginFolder = await installAll({ rewrite: REWRITE })
    for (const name of PACKAGES) {
      const installed = fileURLToPath(new URL(`node_modules/${name}`, ROOT))
      await symlink(installed, path.join(pluginFolder, 'node_modules', name))
    }
    const list = [
      'koa-response-time',
      { use: 'koa-compress', options: { threshold: 0 } },
      'koa-conditional-get',
      'koa-etag',
      'rewrite',
      ...BUILT_IN,
    ]
    gateway = await startGateway({ CONFIG: await listPlugins(pluginFolder, list) }, { pluginFolder })
  })
  after(() => gateway.stop())

  /** Unlike fetch, adds no headers, and does not decompress. */
  function post(body: object, headers: Record<string, string> = {}, endpoint = '/v1/chat/completions') {
    return send('POST', endpoint, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
  }

  function send(method: string, endpoint: string, headers: Record<string, string>, body?: string) {
    const authorization = `Bearer ${gateway.demoKey}`
    const request = http.request(gateway.url + endpoint, { method, headers: { authorization, ...headers } })
    request.end(body)
    return new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on('response', resolve).on('error', reject)
    })
  }

  const REPLIES = { 'a whole reply': {}, 'a streamed reply': { stream: true } }

  for (const [name, more] of Object.entries(REPLIES)) {
    describe(`on ${name}`, () => {
      const body = chatBody('Which track?', more)

      for (const [encoding, decompress] of [
        ['gzip', gunzipSync],
        ['br', brotliDecompressSync],
      ] as const) {
        it(`compresses it with ${encoding}`, async () => {
          const response = await post(body, { 'accept-encoding': encoding })
          // Streams say "no-transform", which koa-compress honours.
          const isStream = 'stream' in more
          expect(response.headers['content-encoding']).to.equal(isStream ? undefined : encoding)
          const chunks: Buffer[] = await response.toArray()
          const bytes = Buffer.concat(chunks)
          const text = String(isStream ? bytes : decompress(bytes))
          expect(text).to.contain('track')
        })
      }

      it('measures the response time', async () => {
        const response = await post(body)
        expect(response.headers['x-response-time']).to.match(/^[\d.]+ms$/)
        await readText(response)
      })

      for (const how of ['for await', 'on data', 'pipeline']) {
        it(`reads and replaces the body (${how}), and reads, changes and removes headers`, async () => {
          const response = await post(body, { 'x-rewrite': how })
          const text = await readText(response)
          expect(response.statusCode).to.equal(200)
          expect(text).to.contain('TRACK')
          expect(text).not.to.contain('track')
          const { headers } = response
          expect(headers['x-type']).to.equal('stream' in more ? 'text/event-stream' : 'application/json')
          expect(headers['x-seen']).to.equal(`openai ${headers['x-request-id']}`)
          expect(headers).not.to.have.property('x-model')
          expect(headers['x-routing-mode']).to.equal('hidden')
          if (!('stream' in more)) expect(Number(headers['content-length'])).to.equal(Buffer.byteLength(text))
        })
      }
    })
  }

  it('answers conditional requests by ETag', async () => {
    const first = await gateway.call('GET', '/v1/models')
    const etag = first.headers.get('etag') ?? ''
    expect(etag).to.match(/^(W\/)?"/)
    const second = await send('GET', '/v1/models', { 'if-none-match': etag })
    expect(second.statusCode).to.equal(304)
    expect(await readText(second)).to.equal('')
  })

  it('sees responses of the Responses API in the same way', async () => {
    const response = await post({ input: 'Which track?' }, { 'x-rewrite': 'pipeline' }, '/v1/responses')
    expect(await readText(response)).to.contain('TRACK')
  })
})
