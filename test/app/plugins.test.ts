import { cp, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, installPackage, listPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'

const STAMP = `import { endpoint, Type, user } from 'signalbox'
export default {
  name: 'stamp',
  contract: 3,
  after: ['auth'],
  options: { type: 'object', additionalProperties: false, required: ['text'], properties: { text: { type: 'string' } } },
  setup: ({ text }) => ({
    admit({ account, res }) {
      res.setDefaultHeader('x-stamp', text + ' for user ' + account.userId)
    },
    endpoints: [
      endpoint({
        method: 'GET', path: '/v1/stamp', access: user(), operationId: 'readStamp', summary: 'Returns the stamp.',
        tags: ['stamp'], responses: { 200: { description: 'The stamp.', body: Type.Object({ data: Type.String() }) } },
        handle: () => ({ status: 200, body: { data: text } }),
      }),
    ],
  }),
}`

const NIGHT = `export default {
  name: 'night',
  contract: 3,
  setup: () => ({
    conditions: [
      {
        name: 'shout', schema: { type: 'boolean' }, description: 'true or false',
        matcher: (value) => ({ request: { messages: [{ content }] } }) =>
          (content === content.toUpperCase()) === value,
      },
      { name: 'mentions', schema: { type: 'string' }, description: 'a text', literals: (value) => [value] },
    ],
    actions: [
      {
        name: 'echo', schema: { type: 'string' }, description: 'a text', combine: 'all',
        apply: (value, draft) => { draft.warnings.push({ code: 'echo', message: value }) },
      },
    ],
  }),
}`

/** Its parts are methods and getters of a class with private state. */
const CLASSY = `import { endpoint, Type, user } from 'signalbox'
class Classy {
  #count = 0
  admit({ res }) { res.setDefaultHeader('x-count', String(++this.#count)) }
  get endpoints() {
    const responses = { 200: { description: 'The count.', body: Type.Object({ data: Type.Integer() }) } }
    const handle = () => ({ status: 200, body: { data: this.#count } })
    return [endpoint({
      method: 'GET', path: '/v1/count', access: user(), operationId: 'readCount', summary: 'Returns the count.',
      tags: ['count'], responses, handle,
    })]
  }
}
export default { name: 'classy', contract: 3, after: ['auth'], setup: () => new Classy() }`

describe('plugins', () => {
  it('may return an instance of a class', async () => {
    const folder = await makeFolder()
    await installPackage(folder, 'classy', CLASSY)
    const CONFIG = await listPlugins(folder, [...BUILT_IN, 'classy'])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const { status, headers, body } = await gateway.call('GET', '/v1/count')
    expect(status).to.equal(200)
    expect(headers.get('x-count')).to.equal('1')
    expect(body).to.deep.equal({ data: 1 })
    await gateway.stop()
  })

  it('load from a path, with options, middleware and an endpoint', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'stamp.mjs'), STAMP)
    const [auth, ...rest] = BUILT_IN
    const stamp = { use: './stamp.mjs', options: { text: 'seen' } }
    const CONFIG = await listPlugins(folder, [auth, stamp, ...rest])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    expect(gateway.stderr()).to.contain('auth -> stamp -> rate-limit')
    const chat = await gateway.call('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(chat.headers.get('x-stamp')).to.equal('seen for user 1')
    expect((await gateway.call('GET', '/v1/stamp')).body).to.deep.equal({ data: 'seen' })
    expect((await gateway.call('GET', '/v1/stamp', undefined, { authorization: '' })).status).to.equal(401)
    await gateway.stop()
  })

  it('load by package name', async () => {
    const folder = await makeFolder()
    await installPackage(folder, '@acme/stamp', STAMP, { exports: { '.': { import: './index.js' } } })
    const CONFIG = await listPlugins(folder, [
      ...BUILT_IN,
      { use: '@acme/stamp', options: { text: 'packed' } },
    ])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    expect((await gateway.call('GET', '/v1/stamp')).body).to.deep.equal({ data: 'packed' })
    await gateway.stop()
  })

  it('add conditions and actions for routing rules', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'night.mjs'), NIGHT)
    const CONFIG = await listPlugins(folder, [...BUILT_IN, './night.mjs'])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const create = (match_json: object, action_json: object) => {
      const rule = { name: 'r', is_enabled: true, priority: 1, match_json, action_json }
      return gateway.call('POST', '/v1/routing-rules', rule)
    }
    const misspelt = await create({ shout: 'yes' }, { echo: 1 })
    expect(misspelt.status).to.equal(422)
    expect(misspelt.body.error.errors).to.deep.equal({
      match_json: ['shout must be true or false.'],
      action_json: ['echo must be a text.'],
    })
    expect((await create({ shout: true, mentions: 'urgent' }, { echo: 'quiet, please' })).status).to.equal(
      201,
    )
    const warnings = async (content: string) => {
      const { body } = await gateway.call('POST', '/v1/chat/completions', {
        messages: [{ role: 'user', content }],
      })
      return body.metadata.warnings
    }
    expect(await warnings('THIS IS URGENT')).to.deep.equal([{ code: 'echo', message: 'quiet, please' }])
    expect(await warnings('this is urgent')).to.equal(undefined)
    expect(await warnings('THIS IS NOT')).to.equal(undefined)
    await gateway.stop()
  })

  it('may be plain Koa middleware, before auth and after it', async () => {
    const folder = await makeFolder()
    const made = `exports.__esModule = true
      exports.default = function (options) { return async (ctx, next) => {
        ctx.set(options.header, String(ctx.account === undefined))
        if (ctx.get('x-teapot')) ctx.throw(418, 'No coffee here.', { headers: { 'x-pot': 'tea' } })
        await next()
      } }`
    const itself = `export default async (ctx, next) => {
      const early = ctx.request.body?.model
      await next()
      ctx.set('x-seen', early + ' ' + ctx.request.body?.model)
    }`
    await installPackage(folder, 'koa-early', made, { type: 'commonjs' })
    await installPackage(folder, 'koa-late', itself)
    const early = { use: 'koa-early', options: { header: 'x-stranger' } }
    const CONFIG = await listPlugins(folder, [early, ...BUILT_IN, 'koa-late'])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const ask = (headers = {}) =>
      gateway.call(
        'POST',
        '/v1/chat/completions',
        { model: 'auto:cost', messages: [{ role: 'user', content: 'x' }] },
        headers,
      )

    const answer = await ask()
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('x-stranger')).to.equal('true')
    expect(answer.headers.get('x-seen')).to.equal('undefined auto:cost')
    expect((await gateway.call('GET', '/v1/models')).headers.get('x-stranger')).to.equal('true')
    expect((await ask({ authorization: '' })).headers.get('x-stranger')).to.equal('true')
    expect((await gateway.call('GET', '/healthz')).headers.get('x-stranger')).to.equal(null)

    const refused = await ask({ 'x-teapot': '1' })
    expect(refused.status).to.equal(418)
    expect(refused.headers.get('x-pot')).to.equal('tea')
    expect(refused.body.error).to.include({
      message: 'No coffee here.',
      type: 'invalid_request_error',
      code: 'refused',
      http_status: 418,
    })
    await gateway.stop()
  })

  it('may change responses and their headers, and write responses themselves', async () => {
    const folder = await makeFolder()
    const censor = `export default async (ctx, next) => {
      if (ctx.get('x-censor') === 'all') {
        ctx.respond = false
        ctx.res.end('nothing')
        return
      }
      ctx.set('x-provider', 'hidden')
      await next()
      ctx.set('x-was', ctx.status + ' ' + ctx.type)
      const body = typeof ctx.body === 'string' ? JSON.parse(ctx.body) : ctx.body
      body.choices[0].message.content = 'censored'
      ctx.body = body
    }`
    await installPackage(folder, 'koa-censor', censor)
    const CONFIG = await listPlugins(folder, ['koa-censor', ...BUILT_IN])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'x' }] }

    const { headers, body } = await gateway.call('POST', '/v1/chat/completions', chat)
    expect(body.choices[0].message.content).to.equal('censored')
    expect(body).to.include({ object: 'chat.completion', provider: 'openai' })
    expect(headers.get('x-provider')).to.equal('hidden')
    expect(headers.get('x-model')).to.equal('gpt-4o')
    expect(headers.get('x-was')).to.equal('200 application/json')
    expect(Number(headers.get('content-length'))).to.equal(JSON.stringify(body).length)

    const written = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-censor': 'all' },
    })
    expect(await written.text()).to.equal('nothing')
    expect(written.headers.get('x-content-type-options')).to.equal('nosniff')
    expect(written.headers.get('x-request-id')).to.match(/^req_/)
    await gateway.stop()
  })

  it('may throw errors of the gateway, of another copy of Signalbox, or of their own', async () => {
    const folder = await makeFolder()
    const thrower = `import { GatewayError } from 'signalbox'
      import { GatewayError as Copied } from './copy/errors.js'
      export default { name: 'thrower', contract: 3, after: ['auth'], setup: () => ({
        admit({ headers }) {
          const how = headers['x-throw']
          if (how === 'ours') throw new GatewayError('conflict', 'Ours.', { retryAfter: 3 })
          if (how === 'copy') throw new Copied('conflict', GatewayError === Copied ? 'Same.' : 'A copy.', { retryAfter: 3 })
          if (how === 'other') throw new Error('a secret of the plugin')
        },
      }) }`
    const home = await installPackage(folder, 'thrower', thrower)
    for (const name of ['errors.js', 'error-codes.js', 'signalbox-error.js']) {
      await cp(new URL(`dist/core/contract/${name}`, ROOT), path.join(home, 'copy', name))
    }
    const CONFIG = await listPlugins(folder, [...BUILT_IN, 'thrower'])
    const gateway = await startGateway({ CONFIG }, { pluginFolder: folder })
    const errorOf = async (how: string) => {
      const { status, headers, body } = await gateway.call('GET', '/v1/models', undefined, { 'x-throw': how })
      return [status, headers.get('retry-after'), body.error.message]
    }

    expect(await errorOf('ours')).to.deep.equal([409, '3', 'Ours.'])
    expect(await errorOf('copy')).to.deep.equal([409, '3', 'A copy.'])
    const [status, , message] = await errorOf('other')
    expect(status).to.equal(500)
    expect(message).not.to.contain('secret')
    await gateway.wrote('a secret of the plugin')
    await gateway.stop()
  })

  it('may answer with a long list that they change in place afterwards', async () => {
    const list = `const list = Array.from({ length: 500 }, (_, id) => ({ id, state: 'before' }))
      const change = () => { for (const item of list.splice(250)) item.state = 'after' }
      export default { name: 'list', contract: 3, setup: () => ({
        endpoints: [{
          method: 'GET', path: '/v1/list', access: { type: 'user' }, operationId: 'readList', summary: 'Lists.',
          tags: [], responses: { 200: { description: 'The list.' } },
          handle: () => {
            setImmediate(change)
            return { status: 200, body: { count: list.length, data: list } }
          },
        }],
      }) }`
    const pluginFolder = await installAll({ list })
    const CONFIG = await listPlugins(pluginFolder, [...BUILT_IN, 'list'])
    const gateway = await startGateway({ CONFIG }, { pluginFolder })
    const { count, data } = (await gateway.call('GET', '/v1/list')).body
    expect([count, data.length, data.at(-1)]).to.deep.equal([500, 500, { id: 499, state: 'before' }])
    await gateway.stop()
  })

  it('have no access to the admin key and the provider keys', async () => {
    const folder = await makeFolder()
    const snoop = `import { inspect } from 'node:util'
      export default { name: 'snoop', contract: 3, setup: (options, host) => ({
        endpoints: [{
          method: 'GET', path: '/v1/snoop', access: { type: 'user' }, operationId: 'snoop', summary: 'Snoops.',
          tags: [], responses: { 200: { description: 'All that was found.' } },
          handle: () => ({ status: 200, body: { data: inspect(host, { depth: 12, showHidden: true }) } }),
        }],
      }) }`
    await installPackage(folder, 'snoop', snoop)
    const CONFIG = await listPlugins(folder, [...BUILT_IN, 'snoop'])
    const OPENAI_API_KEY = 'sk-a-key-of-a-provider'
    const gateway = await startGateway({ CONFIG, OPENAI_API_KEY }, { pluginFolder: folder })

    const { data } = (await gateway.call('GET', '/v1/snoop')).body

    expect(data).to.contain('metrics')
    expect(data).not.to.contain(ADMIN_KEY)
    expect(data).not.to.contain(OPENAI_API_KEY)
    await gateway.stop()
  })
})
