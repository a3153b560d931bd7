import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { pairs } from '../support/rounds.ts'
import { post, receivedText } from '../support/streams.ts'

/** Misbehaves as the header `x-way` says. The text before the colon is the phase. */
const HOSTILE = `import { GatewayError, ReplyEvent } from 'signalbox'
const later = (call) => setTimeout(() => { try { call() } catch {} }, 5)
const never = () => new Promise(() => undefined)
const whole = (part, more) => ({ type: 'whole', event: event(part), ...more })
const event = (...parts) => new ReplyEvent(
  [{ type: 'start', id: 'x', model: 'own' }, ...parts, { type: 'finish', reason: 'stop' }])
const text = (content) => ({ type: 'text', text: content })
const cyclic = () => { const value = {}; value.self = value; return value }
const unreadable = (field) =>
  Object.defineProperty(new Error('x'), field, { get() { throw new Error('trap') } })
const revoked = () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy }
const DECIDE = {
  'decide: replaces the request by a number': (exchange) => { exchange.request = 5 },
  'decide: replaces the request by nothing': (exchange) => { exchange.request = undefined },
  'decide: replaces the request by a revoked proxy': (exchange) => { exchange.request = revoked() },
  'decide: makes the messages circular': (exchange) => {
    const messages = [{ role: 'user', content: [cyclic()] }]
    exchange.request = { ...exchange.request, messages, metadata: cyclic() }
  },
  'decide: has messages with a BigInt': (exchange) => {
    exchange.request = { ...exchange.request, messages: [{ role: 'user', content: 5n }] }
  },
  'decide: deletes fields of the exchange': (exchange) => {
    for (const name of ['request', 'trace', 'warnings', 'rules', 'account']) delete exchange[name]
  },
  'decide: takes the account away': (exchange) => { exchange.account = undefined },
  'decide: freezes the exchange': (exchange) => { Object.freeze(exchange) },
  'decide: has a getter for the route that throws': (exchange) =>
    Object.defineProperty(exchange, 'route', { get() { throw new Error('trap') }, set() {} }),
  'decide: makes the policies a number': (exchange) => { exchange.policies = 5 },
  'decide: replaces the trace': (exchange) => { exchange.trace = [] },
  'decide: throws null': () => { throw null },
  'decide: throws a symbol': () => { throw Symbol('x') },
  'decide: throws a frozen error': () => { throw Object.freeze(new Error('frozen')) },
  'decide: throws an error without a readable message': () => { throw unreadable('message') },
  'decide: throws an error without a readable stack': () => { throw unreadable('stack') },
  'decide: throws an error without a readable name': () => { throw unreadable('name') },
  'decide: throws a proxy': () => { throw new Proxy(new Error('x'), { get() { throw new Error('trap') } }) },
  'decide: throws an error with a circular cause': () => {
    const error = new Error('x')
    error.cause = error
    error.more = cyclic()
    throw error
  },
  'decide: throws an error of the gateway with a bad status': () => {
    throw new GatewayError({ code: 'x', status: 'many', type: 'x', message: 'X.' })
  },
  'decide: throws an error that looks like one of Koa': () => {
    throw Object.assign(new Error('x'), { expose: true, status: 404, headers: { 'x-bad': 'a\\nb' } })
  },
  'decide: rejects with a thenable': () => Promise.reject({ then() { throw new Error('trap') } }),
  'decide: returns a thenable that never ends': () => ({ then() {} }),
  'decide: returns a thenable that throws': () => ({ get then() { throw new Error('trap') } }),
  'decide: writes a huge line': (_, logger) => { logger.info({ more: 'x'.repeat(3_000_000) }, 'huge') },
  'decide: logs what cannot be encoded': (_, logger) => { logger.info({ a: cyclic(), b: 5n }, 'odd') },
  'decide: sends secrets to the log in an error': () => { throw new Error('it broke') },
}
const REPLY = {
  'reply: calls next when it has ended': (_, next) => { later(() => next().catch(() => undefined)) },
  'reply: does not wait for next': (_, next) => { next(); return whole(text('own')) },
  'reply: returns the reply of another request': () => whole(text('x'), { batches: 5 }),
  'reply: has circular parts': () => whole({ type: 'extra', place: 'x', content: cyclic() }),
  'reply: has a part with a getter that throws': () =>
    ({ type: 'whole', event: event({ type: 'text', get text() { throw new Error('trap') } }) }),
  'reply: yields numbers': () => ({ type: 'stream', batches: (async function* () { yield 5 })() }),
  'reply: has an iterator whose return throws': () => ({
    type: 'stream',
    batches: { [Symbol.asyncIterator]: () => ({
      next: async () => ({ done: false, value: [5] }), return() { throw new Error('trap') },
    }) },
  }),
  'reply: throws behind next': async (_, next) => { await next(); throw new Error('behind') },
  'reply: rejects after the answer': async (_, next) => {
    const reply = await next()
    later(() => Promise.reject(new Error('late')).catch(() => undefined))
    return reply
  },
}
const INSPECT = {
  'inspect: returns a number': () => 5,
  'inspect: returns a list with holes': () => [undefined],
  'inspect: has a getter for transform that throws': () => ({ get transform() { throw new Error('trap') } }),
  'inspect: throws midway': () => {
    let count = 0
    return { transform(event) { if (count++ > 1) throw new Error('midway'); return [event] } }
  },
  'inspect: returns the parts as text': () => ({ transform: (event) => [event.withParts('text')] }),
  'inspect: sets the status and headers afterwards': (exchange) => {
    later(() => { exchange.res.statusCode = 999; exchange.res.setHeader('x-late', 'yes') })
    return undefined
  },
  'inspect: ends the response itself': ({ res }) => { res.destroy?.(); return undefined },
  'inspect: holds everything back': () => ({ transform: () => [], flush: never }),
}
export default {
  name: 'hostile', contract: 3, after: ['auth'], before: ['dispatch'],
  setup: (_, { logger }) => ({
    decide: (exchange) => DECIDE[exchange.headers['x-way']]?.(exchange, logger),
    reply: (exchange, next) => (REPLY[exchange.headers['x-way']] ?? ((_, next) => next()))(exchange, next),
    inspect: (exchange) => INSPECT[exchange.headers['x-way']]?.(exchange),
  }),
}`

const WAYS = [...HOSTILE.matchAll(/^ {2}'(.+?: .+?)': /gm)].map(([, name = '']) => name)

/** What does no harm, so that the request is answered. */
const HARMLESS = [
  'decide: writes a huge line',
  'decide: logs what cannot be encoded',
  'reply: does not wait for next',
  'reply: rejects after the answer',
  'inspect: sets the status and headers afterwards',
]

describe('a hostile plugin', () => {
  let gateway: RunningGateway
  const fatal: unknown[] = []
  const noteFatal = (error: unknown) => fatal.push(error)
  before(async () => {
    process.on('unhandledRejection', noteFatal)
    const add = [{ use: 'hostile', before: 'firewall' }]
    gateway = await startWithPlugins({ hostile: HOSTILE }, { add }, 'timeouts: { plugin_ms: 50 }\n')
  })
  after(async () => {
    await gateway?.stop()
    process.off('unhandledRejection', noteFatal)
  })

  const ask = async (way: string, stream: boolean) => {
    const headers = { 'x-way': way }
    const response = await post(gateway, '/v1/chat/completions', chatBody('hello', { stream }), { headers })
    return { response, text: await receivedText(response) }
  }

  it('has at least thirty ways', () => {
    expect(WAYS.length).to.be.at.least(30)
  })

  for (const [stream, way] of pairs([false, true], WAYS))
    it(`ends its own request at most, ${stream ? 'streamed' : 'whole'}: ${way}`, async () => {
      const bad = await ask(way, stream).catch((error: Error) => ({ error }))
      if (HARMLESS.includes(way)) expect('text' in bad && bad.text).not.to.contain('internal_error')

      const good = await ask('none', false)
      expect(good.response.status, good.text).to.equal(200)
      const id = good.response.headers.get('x-request-id')
      const record = await gateway.call('GET', `/admin/requests/${id}`, undefined, AS_ADMIN)
      expect(record.status).to.equal(200)
      expect(fatal).to.deep.equal([])
    })

  it('never makes the ledger unavailable', () => {
    expect(gateway.stderr()).not.to.contain('ledger unavailable')
  })
})
