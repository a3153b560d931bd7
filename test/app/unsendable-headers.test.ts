import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { sample } from '../support/rounds.ts'
import { post, receivedText } from '../support/streams.ts'

const SECRET = 'kingfisher'

/** Sets the header that `x-bad` names, at the place that `x-place` names. */
const SETTER = `const SECRET = '${SECRET}'
const BAD = {
  'a line break': ['x-bad', SECRET + '\\nx-other: 1'],
  'a carriage return': ['x-bad', SECRET + '\\rx'],
  'a control character': ['x-bad', SECRET + '\\0'],
  'a letter beyond Latin-1': ['x-bad', SECRET + '\\u0416'],
  'a name with a space': ['x bad', SECRET],
  'a name with a line break': ['x-bad\\r\\nx-other', SECRET],
  'an empty name': ['', SECRET],
  'no value': ['x-bad', undefined],
  'an object': ['x-bad', { toString() { throw new Error(SECRET) } }],
  'another length': ['content-length', '3'],
  'another length in capitals': ['Content-Length', '3'],
  'another framing': ['transfer-encoding', 'gzip'],
}
const of = ({ headers }, place) => headers['x-place'] === place ? BAD[headers['x-bad']] : undefined
const set = (request, place) => {
  const header = of(request, place)
  if (header !== undefined) request.res.setDefaultHeader(...header)
}
export default {
  name: 'setter', contract: 3, after: ['auth'], before: ['dispatch'],
  setup: () => ({
    admit(request) {
      set(request, 'admit')
      if (of(request, 'admit later') !== undefined) request.res.setDefaultHeader('X-Fine', 'yes')
    },
    decide: (exchange) => set(exchange, 'decide'),
    async reply(exchange, next) {
      set(exchange, 'reply')
      const call = of(exchange, 'call')
      if (call !== undefined) exchange.headersOfCall = () => ({ [call[0]]: call[1] })
      const reply = await next()
      set(exchange, 'behind next')
      return reply
    },
    inspect(exchange) {
      set(exchange, 'inspect')
      const header = of(exchange, 'decoration')
      return {
        transform(event) {
          set(exchange, 'transform')
          if (header !== undefined) exchange.decoration = { ...exchange.decoration, headers: [header] }
          return [event]
        },
      }
    },
    endpoints: [{
      method: 'GET', path: '/v1/bad', access: { type: 'user' }, operationId: 'bad', summary: 'Bad.', tags: [],
      query: { status: { type: 'integer' } },
      responses: { 200: { description: 'Bad.' } },
      handle: ({ headers, query: { status = 200 } }) => {
        const [name, value] = BAD[headers['x-bad']]
        return { status, headers: { [name]: value, location: '/' + value }, body: {} }
      },
    }],
  }),
}`

/** Koa's own ways, which check where they are used. */
const MIDDLEWARE = `const SECRET = '${SECRET}'
const WAYS = {
  set: (ctx) => ctx.set('x-bad', SECRET + '\\n'),
  'set a name': (ctx) => ctx.set('x bad', SECRET),
  append: (ctx) => ctx.append('x-bad', SECRET + '\\n'),
  cookie: (ctx) => ctx.cookies.set('bad', SECRET + '\\n'),
  'cookie name': (ctx) => ctx.cookies.set('b ad\\n', SECRET),
  setHeader: (ctx) => ctx.res.setHeader('x-bad', SECRET + '\\n'),
  writeHead: (ctx) => ctx.res.writeHead(200, { 'x-bad': SECRET + '\\n' }),
  trailer: (ctx) => ctx.res.addTrailers({ 'x-bad': SECRET + '\\n' }),
  default: (ctx) => ctx.res.setDefaultHeader('x-bad', SECRET + '\\n'),
  status: (ctx) => { ctx.status = 9999 },
}
export default async (ctx, next) => {
  const [when, way] = ctx.get('x-way').split(': ')
  if (when === 'before') WAYS[way](ctx)
  await next()
  if (when === 'behind') WAYS[way](ctx)
}`

const listOf = (source: string, start: string, end: string) => {
  const part = source.slice(source.indexOf(start), source.indexOf(end))
  return [...part.matchAll(/^ {2}'?([\w- ]+)'?: /gm)].map(([, name = '']) => name)
}
const HEADERS = listOf(SETTER, 'const BAD', 'const of')
const WAYS = listOf(MIDDLEWARE, 'const WAYS', 'export default')

for (const packages of [
  { setter: SETTER },
  { setter: SETTER, waiter: 'export default (ctx, next) => next()' },
])
  describe(`a header that cannot be sent, with the plugins ${Object.keys(packages)}`, () => {
    const bads = 'waiter' in packages ? sample(HEADERS, 4) : HEADERS
    let gateway: RunningGateway
    before(async () => {
      const add = [{ use: 'setter', before: 'ledger' }, ...('waiter' in packages ? ['waiter'] : [])]
      gateway = await startWithPlugins(packages, { add })
    })
    after(() => gateway?.stop())

    const ask = async (place: string, bad: string, stream: boolean) => {
      const headers = { 'x-place': place, 'x-bad': bad }
      const response = await post(gateway, '/v1/chat/completions', chatBody('hello', { stream }), { headers })
      return { response, text: await receivedText(response) }
    }

    // All plugins set headers by one function, and decorations are sent by another.
    for (const stream of [false, true])
      for (const place of ['admit', 'decide', 'reply', 'behind next', 'inspect', 'transform', 'decoration'])
        for (const bad of place === 'decide' || place === 'decoration' ? bads : HEADERS.slice(0, 1))
          it(`is answered with 500, ${stream ? 'streamed' : 'whole'}: ${bad}, in ${place}`, async () => {
            const { response, text } = await ask(place, bad, stream)
            // The transforms of a stream run when its headers are sent.
            if (stream && place === 'decoration') expect(text).to.contain('[DONE]')
            else expect(text).to.contain('internal_error')
            expect(text).not.to.contain(SECRET)
            expect(response.headers.get('x-other')).to.equal(null)
          })

    for (const bad of HEADERS.slice(0, 9))
      it(`fails the request alone, and the provider stays available: ${bad}, in a call`, async () => {
        for (let request = 0; request < 6; request++) {
          const { text } = await ask('call', bad, false)
          expect(text).to.contain('internal_error').and.not.to.contain(SECRET)
        }
        const { response } = await ask('none', bad, false)
        expect(response.status).to.equal(200)
      })

    for (const status of [200, 302])
      for (const bad of status === 200 ? HEADERS : HEADERS.slice(0, 1))
        it(`is answered with 500 by an endpoint: ${bad}, with ${status}`, async () => {
          const { status: sent, body } = await gateway.call('GET', `/v1/bad?status=${status}`, undefined, {
            'x-bad': bad,
          })
          expect(sent).to.equal(500)
          expect(JSON.stringify(body)).to.contain('The gateway failed').and.not.to.contain(SECRET)
        })

    it('is logged with the name of the plugin', async () => {
      const { response } = await ask('decide', 'a line break', false)
      const id = response.headers.get('x-request-id')
      const line = gateway
        .stderr()
        .split('\n')
        .find((text) => text.includes(`${id}`) && text.includes('"err"'))
      expect(JSON.parse(line ?? '{}').plugin).to.equal('plugin "setter"')
    })

    it('is sent if it can be, in lower case', async () => {
      const { response } = await ask('admit later', 'a line break', false)
      expect(response.status).to.equal(200)
      expect(response.headers.get('x-fine')).to.equal('yes')
    })
  })

describe('a header that Koa middleware cannot send', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startWithPlugins({ waiter: MIDDLEWARE }, { add: ['waiter'] })
  })
  after(() => gateway?.stop())

  for (const when of ['before', 'behind'])
    for (const way of WAYS)
      it(`is answered with 500: ${when} next(), ${way}`, async () => {
        const headers = { 'x-way': `${when}: ${way}` }
        const response = await post(gateway, '/v1/chat/completions', chatBody('hello'), { headers })
        const text = await receivedText(response)
        expect(response.status, text).to.equal(500)
        expect(text).to.contain('internal_error').and.not.to.contain(SECRET)
        const after = await post(gateway, '/v1/chat/completions', chatBody('hello'), {})
        expect(after.status).to.equal(200)
      })
})
