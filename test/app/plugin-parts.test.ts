import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { scrape } from '../support/metrics.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'

/** Conditions, actions, endpoints and metrics that fail in each way. */
const PARTS = `import { Counter, GatewayError, Gauge } from 'signalbox'
const MATCHERS = {
  'matcher throws': () => { throw new Error('matcher failed') },
  'matcher throws a string': () => { throw 'kingfisher' },
  'matcher throws a frozen error': () => { throw Object.freeze(new Error('frozen')) },
  'matcher throws an error that cannot be read': () => {
    const error = new Error('x')
    Object.defineProperty(error, 'stack', { get() { throw new Error('no stack') } })
    throw error
  },
  'matcher is async': async () => false,
  'matcher rejects': async () => { throw new Error('rejected') },
}
const COMPILE = {
  'compiles to nothing': () => undefined,
  'compiles to a promise': async () => () => true,
  'throws when it is compiled': () => { throw new Error('compile failed') },
}
const ACTIONS = {
  'apply throws': ({ warnings }) => {
    warnings.push({ code: 'x', message: 'half' })
    throw new Error('apply failed')
  },
  'apply takes the request away': (draft) => { draft.request = undefined },
  'apply adds a bad warning': (draft) => { draft.warnings.push({ code: 5n }) },
}
const never = () => new Promise(() => undefined)
const ANSWERS = {
  'status 999': () => ({ status: 999, body: {} }),
  'status 100': () => ({ status: 100 }),
  'status that is a text': () => ({ status: '200', body: {} }),
  'no status': () => ({ body: {} }),
  'no body': () => ({ status: 200 }),
  'no response': () => undefined,
  'a text': () => 'kingfisher',
  'a body with a cycle': () => { const body = {}; body.body = body; return { status: 200, body } },
  'a body with a BigInt': () => ({ status: 200, body: { n: 5n } }),
  'a body whose toJSON throws': () => ({ status: 200, body: { toJSON() { throw new Error('no JSON') } } }),
  'a stream that is a list': () => ({ status: 200, stream: ['x'] }),
  'json that is a text': () => ({ status: 200, json: '{}' }),
  'throws null': () => { throw null },
  'rejects with a string': () => Promise.reject('kingfisher'),
  'throws an error that cannot be read': () => { throw new Proxy(new Error('x'), { get() { throw 1 } }) },
  'never ends': never,
  'is a thenable that throws': () => ({ get then() { throw new Error('no then') } }),
}
const STREAMS = {
  'stream throws': async function* () { yield 'data: 1\\n\\n'; throw new Error('stream failed') },
  'stream yields an object': async function* () { yield 'data: 1\\n\\n'; yield {} },
}
const METRICS = {
  'throws': () => { throw new Error('collect failed') },
  'rejects': async () => { throw 'kingfisher' },
  'hangs': never,
}
export default {
  name: 'parts', contract: 3,
  setup(_, { metrics }) {
    for (const [name, collect] of Object.entries(METRICS))
      new Gauge({ name: 'parts_' + name, help: 'Bad.', registers: [metrics], collect })
    new Gauge({ name: 'parts_fine', help: 'Fine.', registers: [metrics], collect() { this.set(7) } })
    const get = async () => ({ values: [{ value: {} }] })
    metrics.registerMetric({ name: 'parts_text', help: 'x', type: 'gauge', get })
    for (const name of ['clear', 'resetMetrics']) try { metrics[name]() } catch {}
    metrics.removeSingleMetric('signalbox_ledger_up')
    return {
      conditions: [
        { name: 'bad', description: 'a name', schema: { type: 'string' },
          matcher: (name) => COMPILE[name] ? COMPILE[name]() : MATCHERS[name] },
        { name: 'bad_words', description: 'a name', schema: { type: 'string' },
          literals: () => { throw new Error('no words') } },
        { name: 'agent', description: 'a text', schema: { type: 'string' }, headers: ['x-agent'],
          matcher: (text) => ({ headers }) =>
            headers['x-agent'] === text && Object.keys(headers).length === 1 },
        { name: 'blind', description: 'true', schema: { type: 'boolean' },
          matcher: () => ({ headers }) => Object.keys(headers).length > 0 },
      ],
      actions: [{ name: 'do', description: 'a name', schema: { type: 'string' }, combine: 'all',
        apply: (name, draft) => ACTIONS[name](draft) },
      { name: 'refuse', description: 'true', schema: { type: 'boolean' }, combine: 'all',
        apply() { throw new GatewayError('conflict', 'No.') } }],
      endpoints: [{
        method: 'GET', path: '/v1/parts/{name}', access: { type: 'user' }, operationId: 'part',
        summary: 'Part.', tags: [],
        params: { name: { type: 'string' } },
        responses: { 200: { description: 'Part.', body: { type: 'object' } } },
        handle: ({ params: { name } }) =>
          STREAMS[name] ? { status: 200, stream: STREAMS[name]() } : ANSWERS[name](),
      }],
    }
  },
}`

const namesOf = (table: string) => {
  const part = PARTS.slice(PARTS.indexOf(`const ${table} = {`))
  return [...part.slice(0, part.indexOf('\n}')).matchAll(/^ {2}'(.+?)': /gm)].map(([, name = '']) => name)
}

describe('a part of a plugin that fails', () => {
  let gateway: RunningGateway
  before(async () => {
    const add = [{ use: 'parts', before: 'routing' }]
    gateway = await startWithPlugins({ parts: PARTS }, { add }, 'timeouts: { plugin_ms: 50 }\n')
  })
  after(() => gateway?.stop())

  const ask = (user: TestUser, headers = {}) =>
    user.call('POST', '/v1/chat/completions', chatBody('hello'), { 'x-include-trace': 'true', ...headers })

  async function createRule(user: TestUser, match_json: object, action_json: object = { set_mode: 'cost' }) {
    const rule = { name: 'Mine', is_enabled: true, priority: 0, match_json, action_json }
    const { status, body } = await user.call('POST', '/v1/routing-rules', rule)
    expect(status, JSON.stringify(body)).to.equal(201)
    return body.data.id
  }

  const conditions = [
    ...[...namesOf('MATCHERS'), ...namesOf('COMPILE')].map((bad) => ({ bad })),
    { bad_words: 'x' },
  ]
  for (const match of conditions)
    it(`a condition skips its rule alone, and the log names both: ${Object.values(match)}`, async () => {
      const user = await newUser(gateway)
      const id = await createRule(user, match)
      const other = await createRule(user, {}, { add_warning: 'The other rule.' })
      const { status, body, headers } = await ask(user)
      expect(status, JSON.stringify(body)).to.equal(200)
      const trace = body.signalbox.rule_trace
      expect(trace.find(({ rule_id }: { rule_id: number }) => rule_id === id)).to.include({
        action: 'set_mode',
        outcome: 'skipped',
        reason: 'condition_failed',
      })
      expect(trace.find(({ rule_id }: { rule_id: number }) => rule_id === other).outcome).to.equal('applied')
      const line = await lineOf(headers.get('x-request-id'), 'a routing rule could not be evaluated')
      expect(line).to.include({ plugin: 'plugin "parts"', rule: `routing:${id}` })
      expect(JSON.stringify(line)).not.to.contain('kingfisher')
    })

  for (const name of namesOf('ACTIONS'))
    it(`an action is skipped, and has no effect: ${name}`, async () => {
      const user = await newUser(gateway)
      const id = await createRule(user, {}, { do: name, add_warning: 'Another action.' })
      const { status, body, headers } = await ask(user)
      expect(status).to.equal(200)
      const skipped = body.signalbox.rule_trace.find(({ action }: { action: string }) => action === 'do')
      expect(skipped).to.include({ rule_id: id, outcome: 'skipped', reason: 'action_failed' })
      const messages = body.signalbox.warnings.map(({ message }: { message: string }) => message)
      expect(messages).to.include('Another action.').and.not.to.include('half')
      await lineOf(headers.get('x-request-id'), 'a routing rule could not be evaluated')
    })

  it('an action may refuse', async () => {
    const user = await newUser(gateway)
    await createRule(user, {}, { refuse: true })
    expect((await ask(user)).status).to.equal(409)
  })

  it('a condition of a policy refuses the request, because a policy must not be left out', async () => {
    const user = await newUser(gateway)
    const policy = { name: 'Bad', is_enabled: true, priority: 0, applies_to: { users: [user.id] } }
    const made = await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)
    expect(made.status, JSON.stringify(made.body)).to.equal(201)
    const rule = { name: 'Bad', is_enabled: true, priority: 0, match_json: { bad: 'matcher throws' } }
    const added = await gateway.call(
      'POST',
      `/admin/policies/${made.body.data.id}/routing-rules`,
      { ...rule, action_json: { set_mode: 'cost' } },
      AS_ADMIN,
    )
    expect(added.status, JSON.stringify(added.body)).to.equal(201)
    const { status, body, headers } = await ask(user)
    expect(status).to.equal(500)
    expect(body.error.message).to.equal(
      'A rule of a policy could not be evaluated, so the request was refused.',
    )
    const line = await lineOf(headers.get('x-request-id'), 'a routing rule could not be evaluated')
    expect(line).to.include({ plugin: 'plugin "parts"', rule: `routing:${added.body.data.id}` })
    expect((await ask(await newUser(gateway))).status).to.equal(200)
  })

  it('a condition sees the headers that it declares, and no others', async () => {
    const user = await newUser(gateway)
    await createRule(user, { agent: 'crawler' })
    await createRule(user, { blind: true }, { add_warning: 'It saw headers.' })
    const actionsOf = async (agent: string) => {
      const { body } = await ask(user, { 'x-agent': agent })
      return (body.signalbox.rule_trace ?? []).map(({ action }: { action: string }) => action)
    }
    expect(await actionsOf('crawler')).to.deep.equal(['set_mode'])
    expect(await actionsOf('person')).to.deep.equal([])
  })

  for (const name of namesOf('ANSWERS'))
    it(`an endpoint is answered with 500, and the log names the plugin: ${name}`, async () => {
      const { status, body, headers } = await gateway.call('GET', `/v1/parts/${encodeURIComponent(name)}`)
      expect(status).to.equal(500)
      expect(JSON.stringify(body)).to.contain('The gateway failed').and.not.to.contain('kingfisher')
      const line = await lineOf(headers.get('x-request-id'), 'The gateway failed')
      expect(line.plugin).to.equal('plugin "parts"')
      expect(JSON.stringify(line)).not.to.contain('kingfisher')
    })

  for (const name of namesOf('STREAMS'))
    it(`a stream of an endpoint breaks off: ${name}`, async () => {
      const url = `${gateway.url}/v1/parts/${encodeURIComponent(name)}`
      const response = await fetch(url, { headers: { authorization: `Bearer ${gateway.demoKey}` } })
      const failure = await response.text().then(
        () => undefined,
        (error) => error,
      )
      expect(failure).to.be.instanceOf(Error)
      expect((await gateway.call('GET', '/v1/models')).status).to.equal(200)
    })

  it('a metric leaves the page served without it', async () => {
    for (let time = 0; time < 2; time++) {
      const page = await scrape(gateway)
      expect(page.sum('parts_fine')).to.equal(7)
      expect(page.sum('signalbox_ledger_up')).to.equal(1)
      const bad = page.samples.filter(({ name }) => /^parts_(?!fine)/.test(name))
      expect(bad).to.deep.equal([])
    }
    const { text } = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN }).then(async (response) => ({
      text: await response.text(),
    }))
    expect(text).to.contain('# HELP parts_throws Bad. (could not be collected)')
    const lines = gateway.stderr().split('\n')
    const failures = lines.filter((line) =>
      line.includes('the metric \\"parts_throws\\" could not be collected'),
    )
    expect(failures).to.have.length(1)
    expect(JSON.parse(failures[0] ?? '').plugin).to.equal('plugin "parts"')
    expect(gateway.stderr()).not.to.contain('kingfisher')
  })

  async function lineOf(id: string | null, message: string) {
    const isIt = (line: string) => line.includes(`"requestId":"${id}"`) && line.includes(message)
    while (!gateway.stderr().split('\n').some(isIt)) await gateway.stderrChanged()
    return JSON.parse(gateway.stderr().split('\n').find(isIt) ?? '')
  }
})
