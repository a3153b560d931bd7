import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installPackage, listPlugins } from '../support/plugins.ts'

const STAMP = `export default {
  name: 'stamp',
  after: ['auth'],
  options: { type: 'object', additionalProperties: false, required: ['text'], properties: { text: { type: 'string' } } },
  setup: ({ text }) => ({
    async middleware(ctx, next) {
      ctx.set('x-stamp', text + ' for user ' + ctx.account.userId)
      await next()
    },
    routes(router) {
      router.get('/v1/stamp', async (ctx) => { ctx.body = { data: text } })
    },
  }),
}`

const NIGHT = `export default {
  name: 'night',
  setup: () => ({
    conditions: [
      {
        name: 'shout', schema: { type: 'boolean' }, says: 'true or false',
        matcher: (value) => ({ request }) => (request.messages[0].content === request.messages[0].content.toUpperCase()) === value,
      },
      { name: 'mentions', schema: { type: 'string' }, says: 'a text', literals: (value) => [value] },
    ],
    actions: [
      {
        name: 'echo', schema: { type: 'string' }, says: 'a text', combine: 'all',
        apply: (value, draft) => { draft.warnings.push({ code: 'echo', message: value }) },
      },
    ],
  }),
}`

describe('plugins', () => {
  it('load from a path, with options, a middleware and an endpoint', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'stamp.mjs'), STAMP)
    const [auth, ...rest] = BUILT_IN
    const stamp = { use: './stamp.mjs', options: { text: 'seen' } }
    const CONFIG = await listPlugins(folder, [auth, stamp, ...rest])
    const gateway = await startGateway({ CONFIG }, { cwd: folder })
    expect(gateway.stderr()).to.contain('auth -> stamp -> rate-limit')
    const chat = await gateway.call('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: 'x' }],
    })
    expect(chat.headers.get('x-stamp')).to.equal('seen for user 1')
    expect((await gateway.call('GET', '/v1/stamp')).body).to.deep.equal({ data: 'seen' })
    expect((await gateway.call('GET', '/v1/stamp', undefined, { authorization: '' })).status).to.equal(401)
    await gateway.stop()
  })

  it('load by the name of an installed package', async () => {
    const folder = await makeFolder()
    await installPackage(folder, '@acme/stamp', STAMP, { exports: { '.': { import: './index.js' } } })
    const CONFIG = await listPlugins(folder, [
      ...BUILT_IN,
      { use: '@acme/stamp', options: { text: 'packed' } },
    ])
    const gateway = await startGateway({ CONFIG }, { cwd: folder })
    expect((await gateway.call('GET', '/v1/stamp')).body).to.deep.equal({ data: 'packed' })
    await gateway.stop()
  })

  it('bring words of their own for routing rules', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'night.mjs'), NIGHT)
    const CONFIG = await listPlugins(folder, [...BUILT_IN, './night.mjs'])
    const gateway = await startGateway({ CONFIG }, { cwd: folder })
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
})
