import { symlink } from 'node:fs/promises'
import http from 'node:http'
import path from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { chatBody, routingRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

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
    const add = [
      { use: 'koa-response-time', before: 'auth' },
      { use: 'koa-compress', before: 'auth', options: { threshold: 0 } },
      { use: 'koa-conditional-get', before: 'auth' },
      { use: 'koa-etag', before: 'auth' },
      { use: 'rewrite', before: 'auth' },
    ]
    const plugins = JSON.stringify({ add, remove: ['overview', 'console'] })
    gateway = await startGateway(await withSettings(`${UNLIMITED}plugins: ${plugins}\n`), { pluginFolder })
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

  it('sees past changes as an object, which are read as text', async () => {
    const rule = routingRuleBody({ name: 'The track' })
    const { id } = (await gateway.call('POST', '/v1/routing-rules', rule)).body.data
    const readName = async (headers: Record<string, string>) => {
      const response = await send('GET', `/v1/routing-rules/${id}/history`, headers)
      expect(response.headers['content-type']).to.equal('application/json; charset=utf-8')
      return JSON.parse(await readText(response)).data[0].after.name
    }
    expect(await readName({ 'x-rewrite': 'object' })).to.equal('The TRACK')
    expect(await readName({})).to.equal('The track')
  })

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

/** Reads nothing, unless a header names what to do behind the reply. */
const IDLE = `export default async (ctx, next) => {
  await next()
  const late = ctx.get('x-late')
  if (late === 'throw') ctx.throw(418, 'Too late.')
  if (late === 'head') {
    ctx.status = 203
    ctx.set('x-late', 'yes')
    ctx.set('cache-control', 'no-transform')
  }
  if (late === 'length') ctx.set('x-length', String(ctx.length))
  if (late === 'change') ctx.body.id = 'changed'
}`

describe('Koa middleware that does not read bodies', () => {
  let gateway: RunningGateway
  let plain: RunningGateway
  before(async () => {
    plain = await startGateway()
    const pluginFolder = await installAll({ idle: IDLE })
    gateway = await startGateway(
      { CONFIG: await listPlugins(pluginFolder, ['idle', ...BUILT_IN]) },
      { pluginFolder },
    )
  })
  after(() => Promise.all([gateway.stop(), plain.stop()]))

  const ask = (where: RunningGateway, late = '') =>
    where.call('POST', '/v1/chat/completions', chatBody('Which track?'), { 'x-late': late })

  it('lets replies through as they are', async () => {
    const [touched, untouched] = [await ask(gateway), await ask(plain)]
    expect(touched.status).to.equal(200)
    expect(touched.body.choices).to.deep.equal(untouched.body.choices)
    for (const name of ['content-type', 'x-provider', 'cache-control'])
      expect(touched.headers.get(name), name).to.equal(untouched.headers.get(name))
  })

  it('lets streams through as they are, with the headers and the status that it sets', async () => {
    const body = JSON.stringify(chatBody('Which track?', { stream: true }))
    const stream = (where: RunningGateway) =>
      fetch(`${where.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${where.demoKey}`,
          'content-type': 'application/json',
          'x-late': 'head',
        },
        body,
      })
    const [touched, untouched] = [await stream(gateway), await stream(plain)]
    expect([touched.status, untouched.status]).to.deep.equal([203, 200])
    expect(touched.headers.get('x-late')).to.equal('yes')
    expect(touched.headers.get('cache-control')).to.equal('no-transform')
    const text = await touched.text()
    expect(text).to.contain('[DONE]')
    expect(text.split('\n\n')).to.have.length((await untouched.text()).split('\n\n').length)
  })

  it('still sees and changes the object, and its length', async () => {
    expect((await ask(gateway, 'change')).body).to.include({ id: 'changed', object: 'chat.completion' })
    const { headers } = await ask(gateway, 'length')
    expect(headers.get('x-length')).to.equal(headers.get('content-length'))
  })

  it('replaces the reply when it throws', async () => {
    const { status, body } = await ask(gateway, 'throw')
    expect(status).to.equal(418)
    expect(body.error.message).to.equal('Too late.')
  })
})
