import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder, runSignalbox, startGateway } from '../support/gateway.ts'

const BUILT_IN = [
  'auth',
  'rate-limit',
  'plan',
  'trace',
  'responses',
  'firewall',
  'routing',
  'dispatch',
  'decorate',
  'rules',
  'models',
  'audit',
  'metrics',
  'openapi',
]

/** A settings file with this list of plugins. */
async function configure(folder: string, plugins: readonly unknown[]): Promise<string> {
  const file = path.join(folder, 'settings.yaml')
  await writeFile(file, JSON.stringify({ plugins }))
  return file
}

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
    const CONFIG = await configure(folder, [auth, stamp, ...rest])
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
    const home = path.join(folder, 'node_modules', '@acme', 'stamp')
    await mkdir(home, { recursive: true })
    await writeFile(
      path.join(home, 'package.json'),
      '{"name":"@acme/stamp","type":"module","exports":"./index.js"}',
    )
    await writeFile(path.join(home, 'index.js'), STAMP)
    const CONFIG = await configure(folder, [...BUILT_IN, { use: '@acme/stamp', options: { text: 'packed' } }])
    const gateway = await startGateway({ CONFIG }, { cwd: folder })
    expect((await gateway.call('GET', '/v1/stamp')).body).to.deep.equal({ data: 'packed' })
    await gateway.stop()
  })

  it('bring words of their own for routing rules', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'night.mjs'), NIGHT)
    const CONFIG = await configure(folder, [...BUILT_IN, './night.mjs'])
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

  const plugin = (name: string, more = '') => `export default { name: '${name}', ${more} setup: () => ({}) }`

  for (const { what, plugins, files = {}, says } of [
    {
      what: 'an unknown name',
      plugins: [...BUILT_IN, 'firewal'],
      says: ['plugin "firewal" is not a built-in', 'npm install firewal'],
    },
    {
      what: 'a built-in listed twice',
      plugins: [...BUILT_IN, 'plan'],
      says: ['plugin "plan" is listed twice'],
    },
    {
      what: 'an order that cannot work',
      plugins: ['plan', 'auth', 'firewall', 'routing', 'dispatch', 'decorate'],
      says: ['plugin "plan" must be listed after "auth"'],
    },
    {
      what: 'a missing predecessor',
      plugins: BUILT_IN.filter((name) => name !== 'auth'),
      says: ['plugin "rate-limit" needs "auth", which is not listed'],
    },
    {
      what: 'options that its schema refuses',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': STAMP },
      says: ['the options of plugin "stamp" are not valid: text is required'],
    },
    {
      what: 'options where none are taken',
      plugins: [{ use: 'auth', options: { strict: true } }, ...BUILT_IN.slice(1)],
      says: ['the options of plugin "auth" are not valid: the value has the unknown field strict'],
    },
    {
      what: 'a file that is not there',
      plugins: [...BUILT_IN, './nowhere.mjs'],
      says: ['plugin "./nowhere.mjs" cannot be imported'],
    },
    {
      what: 'a module that throws',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': "throw new Error('no database')" },
      says: ['plugin "./x.mjs" cannot be imported', 'no database'],
    },
    {
      what: 'no default export',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': 'export const name = 1' },
      says: ['plugin "./x.mjs" has no default export'],
    },
    {
      what: 'no setup',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': "export default { name: 'x' }" },
      says: ['plugin "./x.mjs" has no setup function'],
    },
    {
      what: 'a setup that throws',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': "export default { name: 'x', setup() { throw new Error('bad licence') } }" },
      says: ['plugin "x" could not be set up: bad licence'],
    },
    {
      what: 'a condition that is there already',
      plugins: [...BUILT_IN, './x.mjs'],
      files: {
        'x.mjs': "export default { name: 'x', setup: () => ({ conditions: [{ name: 'contains' }] }) }",
      },
      says: ['plugin "x" brings the condition "contains", which is there already'],
    },
    {
      what: 'an unknown predecessor',
      plugins: [...BUILT_IN, './x.mjs'],
      files: { 'x.mjs': plugin('x', "after: ['billing'],") },
      says: ['plugin "x" needs "billing", which is not listed'],
    },
  ] as const) {
    it(`refuse to start with ${what}, in a sentence`, async () => {
      const folder = await makeFolder()
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text)
      // Paths are looked up from the working directory; the file's own folder stands in by absolute path here.
      const located = plugins.map((entry) =>
        typeof entry === 'string' && entry.startsWith('./') ? path.join(folder, entry) : entry,
      )
      const CONFIG = await configure(folder, located)
      const { code, stdout, stderr } = await runSignalbox(['start'], { CONFIG, PORT: '0', DATA_DIR: folder })
      expect(code).to.equal(1)
      expect(stdout).to.equal('')
      for (const sentence of says) expect(stderr).to.contain(sentence.replace('"./', `"${folder}/`))
    })
  }
})
