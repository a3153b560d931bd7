import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { post, receivedText } from '../support/streams.ts'

const SECRET = 'kingfisher'

/** Does what the header `x-attack` names. The sandbox's replies repeat the prompt, which has the secret. */
const ROGUE = `import { GatewayError, ReplyEvent } from 'signalbox'
const text = (text) => ({ type: 'text', text })
const own = (...parts) => ({ type: 'whole', event: new ReplyEvent(
  [{ type: 'start', id: 'x', model: 'rogue' }, ...parts, { type: 'finish', reason: 'stop' }]) })
const secretOf = ({ request }) => request.messages[0].content
const never = () => new Promise(() => undefined)
const pass = (event) => [event]

const DECIDE = {
  'decide throws a string': (exchange) => { throw secretOf(exchange) },
  'decide rejects with undefined': () => Promise.reject(),
  'decide never ends': never,
  'decide throws a success': () => { throw new GatewayError({ code: 'fine', status: 200, message: 'Fine.' }) },
}
const REPLY = {
  'reply returns undefined': () => undefined,
  'reply returns a string': (exchange) => secretOf(exchange),
  'reply has no event': () => ({ type: 'whole' }),
  'reply has no batches': () => ({ type: 'stream' }),
  'reply has another type': () => ({ type: 'half', event: own().event }),
  'reply has a text that is a number': () => own(text(7)),
  'reply has an unknown part': () => own({ type: 'song', text: 'la' }),
  'reply has no token counts': () => own({ type: 'usage', usage: { input: '3' } }),
  'reply has a token count that is a text': () =>
    own({ type: 'usage', usage: { input: 3, output: 1, cached: 'many' } }),
  'reply has a price factor that is no number': () =>
    own({ type: 'usage', usage: { input: 3, output: 1, priceFactor: NaN } }),
  'reply throws null': () => { throw null },
  'reply throws an object behind next': async (exchange, next) => {
    await next()
    throw { text: secretOf(exchange) }
  },
  'reply calls next twice': async (_, next) => { await next(); return next() },
  'reply calls next twice at once': (_, next) => { next(); return next() },
  'reply never ends': never,
  'reply never ends behind next': async (_, next) => { await next(); return never() },
  'stream never ends behind that of next': async (_, next) => {
    const { batches = [] } = await next()
    const wait = async function* () { for await (const _ of batches); await never() }
    return { type: 'stream', batches: wait() }
  },
}
const STREAMS = {
  'stream has no list': async function* () { yield own().event; yield 'x' },
  'stream has other objects': async function* () {
    yield [own(text('first')).event]
    yield [{ parts: [text(7)] }]
  },
  'stream throws a string': async function* () { yield [own(text('first')).event]; throw 'no' },
  'stream never ends': async function* () { yield [own(text('first')).event]; await never() },
}
const INSPECT = {
  'inspect throws': () => { throw new Error('broken') },
  'inspect is async': async () => { throw new Error('broken') },
  'inspect returns an object': () => ({ change: pass }),
  'transform returns undefined': () => ({ transform: () => undefined }),
  'transform returns an event': () => ({ transform: (event) => event }),
  'transform returns other objects': () => ({ transform: () => [{ parts: [] }] }),
  'transform makes a text of an object': () => ({ transform: (event) => [event.withParts([text({})])] }),
  'transform throws a string': (exchange) => ({ transform: () => { throw secretOf(exchange) } }),
  'transform changes parts': () => ({ transform: (event) => { event.parts = []; return [event] } }),
  'transform changes a text': () => ({
    transform: (event) => {
      for (const part of event.parts) if (part.type === 'text') part.text = '***'
      return [event]
    },
  }),
  'transform never ends': () => ({ transform: never }),
  'flush throws': () => ({ transform: () => [], flush: () => { throw new Error('broken') } }),
  'flush returns a text': (exchange) => ({ transform: () => [], flush: () => secretOf(exchange) }),
  'flush never ends': () => ({ transform: () => [], flush: never }),
}
const HEADERS = { 'x-note': 'two\\nlines' }
const attackOf = ({ headers }) => headers['x-attack']
export default {
  name: 'rogue',
  contract: 3,
  after: ['routing'],
  before: ['dispatch'],
  setup: () => ({
    admit({ headers }) {
      if (headers['x-attack'] === 'a header') throw new GatewayError('conflict', 'No.', { headers: HEADERS })
    },
    decide: (exchange) => DECIDE[attackOf(exchange)]?.(exchange),
    reply(exchange, next) {
      const attack = attackOf(exchange)
      if (attack in STREAMS) return { type: 'stream', batches: STREAMS[attack]() }
      return (REPLY[attack] ?? ((_, next) => next()))(exchange, next)
    },
    inspect: (exchange) => INSPECT[attackOf(exchange)]?.(exchange),
    rejected: ({ headers }) => { if (headers['x-rejected']) throw 'rejected failed' },
    observe: async ({ path }) => { if (path === '/readyz') throw new Error('observe failed') },
  }),
}`

const NAMES = [...ROGUE.matchAll(/^ {2}'(.+?)':/gm)].map(([, name = '']) => name)

describe('plugins that make a mistake', () => {
  let gateway: RunningGateway
  before(async () => {
    const add = [{ use: 'rogue', before: 'dispatch' }]
    gateway = await startWithPlugins({ rogue: ROGUE }, { add }, 'timeouts: { plugin_ms: 50 }\n')
  })
  after(() => gateway.stop())

  async function ask(attack: string, stream: boolean, more: Record<string, string> = {}) {
    const body = chatBody(SECRET, { stream })
    const headers = { 'x-attack': attack, ...more }
    const response = await post(gateway, '/v1/chat/completions', body, { headers })
    return { response, text: await receivedText(response), id: response.headers.get('x-request-id') }
  }

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      let answers: ReadonlyMap<string, Awaited<ReturnType<typeof ask>>>
      // At the same time: streams that fail stay open for a second.
      before(async () => {
        const asked = NAMES.map(async (name) => [name, await ask(name, stream)] as const)
        answers = new Map(await Promise.all(asked))
      })

      for (const name of NAMES) {
        it(`fails one request: ${name}`, async () => {
          const { response, text = '', id = '' } = answers.get(name) ?? {}
          expect(text).to.contain('"code":"internal_error"')
          expect(text).not.to.contain(SECRET)
          expect(text).not.to.contain('[DONE]')
          if (!stream) expect(response?.headers.get('x-error-code')).to.equal('internal_error')
          const line = await logOf(id)
          expect(line.err.stack).to.match(/plugin "rogue"|rogue\/index\.js/)
          expect(JSON.stringify(line)).not.to.contain(SECRET)
        })
      }
    })
  }

  it('serves the next request, and those that are refused are told why', async () => {
    const { response, text } = await ask('none', false)
    expect(response.status, text).to.equal(200)
    const refused = await ask('decide throws a string', false, { 'x-rejected': '1' })
    expect(refused.response.status, refused.text).to.equal(500)
    await gateway.wrote('plugin \\"rogue\\" failed in rejected')
  })

  it('leaves out a header of an error that cannot be sent', async () => {
    const { response } = await ask('a header', false)
    expect(response.status).to.equal(409)
    expect(response.headers.get('x-error-code')).to.equal('conflict')
    await gateway.wrote('a header of an error cannot be sent')
  })

  it('logs what an async observer throws', async () => {
    await gateway.call('GET', '/readyz')
    await gateway.wrote('plugin \\"rogue\\" failed in observe')
    await gateway.wrote('observe failed')
  })

  /** The line of an error of a request. */
  async function logOf(id: string | null) {
    await gateway.wrote(`"requestId":"${id}","msg":"The gateway failed`)
    const lines = gateway
      .stderr()
      .split('\n')
      .filter((line) => line.includes(`${id}`) && line.includes('"err"'))
    expect(lines).to.have.length(1)
    return JSON.parse(lines[0] ?? '')
  }
})
