import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { pairs } from '../support/rounds.ts'
import { post, receivedText } from '../support/streams.ts'

/** Changes what belongs to the gateway as the header `x-way` says. The text before the colon is the phase. */
const TAMPERING = `import { GatewayError, ReplyEvent } from 'signalbox'
const cyclic = () => { const value = {}; value.self = value; return value }
const own = (...parts) => ({ type: 'whole', event: new ReplyEvent(
  [{ type: 'start', id: 'x', model: 'own' }, ...parts, { type: 'finish', reason: 'stop' }]) })
const text = (content) => ({ type: 'text', text: content })
const set = (name, value) => (exchange) => { exchange[name] = value }
const DECIDE = {
  'decide: empties the rules': ({ rules }) => { rules.firewall.length = 0; rules.routing.length = 0 },
  'decide: disables a rule': ({ rules }) => { for (const rule of rules.firewall) rule.is_enabled = false },
  'decide: changes a pattern': ({ rules }) => { for (const rule of rules.firewall) rule.pattern = 5 },
  'decide: adds a policy': ({ policies }) => { policies.push({ ownerId: 5, firewall: 7, routing: [] }) },
  'decide: empties the policies': ({ policies }) => { policies.length = 0 },
  'decide: disables a rule of a policy': ({ policies }) => { policies[0].firewall[0].is_enabled = false },
  'decide: makes the caller another user': ({ account }) => { account.userId = 77 },
  'decide: restricts the account of the key': ({ account }) => { account.models = [] },
  'decide: raises the plan': ({ account }) => { account.plan = 'none' },
  'decide: has an id of another kind': set('id', 5),
  'decide: has no time': set('startedAt', NaN),
  'decide: has features that are a number': set('features', 5),
  'decide: has features that are long': set('features', 'x'.repeat(5_000_000)),
  'decide: has metadata that is circular': set('metadata', cyclic()),
  'decide: has preferences that are a number': set('preferences', 5),
  'decide: has a position that is a text': set('rulesPosition', 'x'),
  'decide: has a shadow without a model': set('shadow', {}),
  'decide: has an endpoint that is a number': set('endpoint', 5),
  'decide: has another operation': set('operation', 'dance'),
  'decide: has a trace id that is a list': set('traceId', [5n]),
  'decide: has no client': set('client', undefined),
  'decide: has no headers': set('headers', undefined),
  'decide: has a received request that is null': set('received', null),
  'decide: has a model that is a list': (exchange) => {
    exchange.request = { ...exchange.request, model: [5n] }
  },
  'decide: asks for a stream of a number': (exchange) => {
    exchange.request = { ...exchange.request, stream: 5 }
  },
  'decide: throws an error of the gateway with a long message': () => {
    throw new GatewayError('conflict', 'x'.repeat(3_000_000))
  },
  'decide: throws an error of the gateway with a number as its message': () => {
    throw new GatewayError('conflict', 5)
  },
  'decide: throws an error of the gateway with circular meta': () => {
    throw new GatewayError('conflict', 'No.', { meta: { rule_id: 5n, more: cyclic() } })
  },
  'decide: throws an error of the gateway with a retry after of NaN': () => {
    throw new GatewayError('conflict', 'No.', { retryAfter: NaN, param: 5n })
  },
}
const ROUTED = {
  'routed: has no targets': ({ route }) => { route.targets.length = 0 },
  'routed: has a target that is null': (exchange) => { exchange.route = { ...exchange.route, targets: [null] } },
  'routed: has a target of no provider': (exchange) => {
    exchange.route = { ...exchange.route, targets: [{ provider: 'none', model: 5 }] }
  },
  'routed: renames a target': ({ route }) => { route.targets[0].model = 'other' },
  'routed: changes a price': ({ route }) => { route.targets[0].entry.price.input = NaN },
  'routed: takes the context away': ({ route }) => { route.targets[0].entry.context = 0 },
  'routed: has a mode that is a number': (exchange) => { exchange.route = { ...exchange.route, mode: 5 } },
  'routed: has a reason that is circular': (exchange) => {
    exchange.route = { ...exchange.route, reason: cyclic(), arm: 5n, router: { version: 'x' } }
  },
  'routed: has candidates that throw': (exchange) => {
    exchange.route = { ...exchange.route, candidates() { throw new Error('trap') } }
  },
}
const REPLY = {
  'reply: adds attempts that are none': ({ attempts }, next) => { attempts.push(null, 5); return next() },
  'reply: adds an attempt with circular fields': ({ attempts }, next) => {
    attempts.push({ target: cyclic(), outcome: cyclic(), startedAt: 'x', ms: 5n })
    return next()
  },
  'reply: removes the attempts': async (exchange, next) => {
    const reply = await next()
    exchange.attempts = undefined
    return reply
  },
  'reply: has a target that is a text': async (exchange, next) => {
    const reply = await next()
    exchange.target = 'x'
    return reply
  },
  'reply: has a usage beyond all limits': () =>
    own(text('x'), { type: 'usage', usage: { input: 1e308, output: 1e308 } }),
  'reply: has a usage below zero': () => own(text('x'), { type: 'usage', usage: { input: -5, output: -1e15 } }),
  'reply: has a usage of fractions': () => own(text('x'), { type: 'usage', usage: { input: 0.5, output: NaN } }),
  'reply: has tool calls without arguments': () =>
    own({ type: 'tool_call', index: 0, id: 5n, name: undefined }, { type: 'tool_call_start' }),
  'reply: never ends its empty batches': () => ({ type: 'stream', batches: (async function* () {
    yield own(text('x')).event.parts.map((part) => new ReplyEvent([part])).slice(0, 2)
    for (;;) yield []
  })() }),
  'reply: headers of calls that are a promise': (exchange, next) => {
    exchange.headersOfCall = () => Promise.reject(new Error('async'))
    return next()
  },
}
const INSPECT = {
  'inspect: has a cost of NaN later': (exchange) => {
    exchange.client.onClose(() => { exchange.costUsd = NaN; exchange.usage = { input: NaN, output: 'x' } })
  },
  'inspect: has a cost below zero later': (exchange) => {
    exchange.client.onClose(() => { exchange.costUsd = -1e9; exchange.usage = { input: -5, output: -5e14 } })
  },
  'inspect: has a cost of NaN': set('costUsd', NaN),
  'inspect: has a cost below zero': set('costUsd', -1e9),
  'inspect: has a cost that is a text': set('costUsd', '1'),
  'inspect: has a usage of texts': set('usage', { input: 'x', output: cyclic() }),
  'inspect: has a finish reason that is a list': set('finishReason', [5n]),
  'inspect: has decoration that throws': set('decoration', { headers: [], first() { throw new Error('trap') },
    last() { throw new Error('trap') } }),
  'inspect: has decoration with a bad header': set('decoration', { headers: [['x-bad', 'a\\nb']],
    first: () => ({}), last: () => ({}) }),
  'inspect: has decoration that is circular': set('decoration', { headers: [], first: cyclic, last: cyclic }),
  'inspect: replaces the reply': set('reply', undefined),
  'inspect: has issues that throw': set('answerIssues', () => { throw new Error('trap') }),
  'inspect: has an error that is none': set('error', { code: 5 }),
  'inspect: changes its target': ({ target }) => { target.model = 'other'; target.provider = 5 },
}
const OBSERVE = {
  'observe: deletes the exchange': (request) => { request.exchange = undefined; request.account = undefined },
  'observe: changes the outcome': (request) => Object.assign(request, { status: 'x', endedAt: NaN, error: 5 }),
  'observe: has a cost of NaN': ({ exchange }) => { if (exchange) exchange.costUsd = NaN },
  'observe: has usage below zero': ({ exchange }) => { if (exchange) exchange.usage = { input: -1e12, output: -5 } },
  'observe: never ends': () => new Promise(() => undefined),
}
const REJECTED = {
  'rejected: changes the status': (_, error) => { error.status = 'many' },
  'rejected: changes the message': (_, error) => { error.message = cyclic() },
  'rejected: has a bad header': (_, error) => { error.details.headers = { 'x-bad': 'a\\nb' } },
  'rejected: never ends': () => new Promise(() => undefined),
  'rejected: changes the code': (_, error) => { error.code = 5; error.type = cyclic() },
}
const wayOf = ({ headers }) => headers?.['x-way']
export const tampering = {
  name: 'tampering', contract: 3, after: ['auth'],
  setup: () => ({
    decide: (exchange) => DECIDE[wayOf(exchange)]?.(exchange),
    observe: (request) => OBSERVE[request.exchange && wayOf(request.exchange)]?.(request),
    rejected: (exchange, error) => REJECTED[wayOf(exchange)]?.(exchange, error),
  }),
}
export default tampering
export const routed = {
  name: 'routed', contract: 3, after: ['routing'], before: ['dispatch'],
  setup: () => ({
    decide(exchange) {
      if (wayOf(exchange)?.startsWith('rejected')) throw new GatewayError('conflict', 'No.')
      ROUTED[wayOf(exchange)]?.(exchange)
    },
    reply: (exchange, next) => (REPLY[wayOf(exchange)] ?? ((_, next) => next()))(exchange, next),
    inspect: (exchange) => { INSPECT[wayOf(exchange)]?.(exchange) },
  }),
}`

const WAYS = [...TAMPERING.matchAll(/^ {2}'(.+?: .+?)': /gm)].map(([, name = '']) => name)

describe('a plugin that changes what belongs to the gateway', () => {
  let gateway: RunningGateway
  const fatal: unknown[] = []
  const noteFatal = (error: unknown) => fatal.push(error)
  before(async () => {
    process.on('unhandledRejection', noteFatal)
    process.on('uncaughtException', noteFatal)
    const sources = {
      tampering: TAMPERING,
      routed: "export { routed as default } from '../tampering/index.js'",
    }
    const add = [
      { use: 'tampering', before: 'firewall' },
      { use: 'routed', before: 'dispatch' },
    ]
    gateway = await startWithPlugins(sources, { add }, 'timeouts: { plugin_ms: 50 }\n')
    const rule = { name: 'own', is_enabled: true, priority: 0, scope: 'prompt', type: 'substring' }
    const own = { ...rule, pattern: 'kingfisher', action: 'block' }
    expect((await gateway.call('POST', '/v1/firewall-rules', own)).status).to.equal(201)
    const policy = { name: 'all', is_enabled: true, priority: 0, applies_to: { everyone: true } }
    const made = await gateway.call('POST', '/admin/policies', policy, AS_ADMIN)
    const { id } = made.body.data
    const theirs = { ...rule, pattern: 'heron', action: 'block' }
    await gateway.call('POST', `/admin/policies/${id}/firewall-rules`, theirs, AS_ADMIN)
    await setBudget(gateway, budgetOf.user(1), { limit_usd: 1000 })
  })
  after(async () => {
    await gateway?.stop()
    process.off('unhandledRejection', noteFatal)
    process.off('uncaughtException', noteFatal)
  })

  const ask = async (way: string, stream: boolean, content = 'hello', model = 'gpt-4o') => {
    const headers = { 'x-way': way }
    const body = { ...chatBody(content, { stream }), model }
    const response = await post(gateway, '/v1/chat/completions', body, { headers })
    return { response, text: await receivedText(response) }
  }

  for (const [stream, way] of pairs([false, true], WAYS))
    it(`ends its own request at most, ${stream ? 'streamed' : 'whole'}: ${way}`, async () => {
      const bad = await ask(way, stream).catch((error: Error) => ({ error }))
      expect(bad, 'error' in bad ? String(bad.error) : '').not.to.have.property('error')

      const good = await ask('none', false)
      expect(good.response.status, good.text).to.equal(200)
      const { model, signalbox } = JSON.parse(good.text)
      expect(model).to.equal('gpt-4o')
      expect(signalbox.cost_usd, good.text).to.be.greaterThan(0)
      for (const word of ['kingfisher', 'heron'])
        expect((await ask('none', stream, word)).response.status, word).to.equal(403)
      const id = good.response.headers.get('x-request-id')
      const record = await gateway.call('GET', `/admin/requests/${id}`, undefined, AS_ADMIN)
      expect(record.status, JSON.stringify(record.body)).to.equal(200)
      expect(record.body.data.user_id).to.equal(1)
      const { spent_usd } = await readBudget(gateway, budgetOf.user(1))
      expect(spent_usd).to.be.within(0, 100)
      for (const page of ['/admin/usage?group_by=model', '/admin/requests?limit=10', '/admin/overview'])
        expect((await gateway.call('GET', page, undefined, AS_ADMIN)).status, page).to.equal(200)
      expect((await gateway.call('GET', '/v1/models')).status).to.equal(200)
      expect(fatal).to.deep.equal([])
    })

  it('never makes the ledger unavailable', () => {
    expect(gateway.stderr()).not.to.contain('ledger unavailable')
  })
})
