import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { installAll } from '../support/plugins.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** Calls `next` as the header `x-next` says. */
const CARELESS = `export default (ctx, next) => {
  switch (ctx.get('x-next')) {
    case 'not awaited': next(); return
    case 'not awaited in an async function': return (async () => { next() })()
    case 'twice': return next().then(() => next())
    case 'twice at once': next(); return next()
    case 'throws undefined': throw undefined
    default: return next()
  }
}`

describe('Koa middleware that calls next carelessly', () => {
  let gateway: RunningGateway
  before(async () => {
    const pluginFolder = await installAll({ careless: CARELESS })
    const settings = await withSettings(`${UNLIMITED}plugins: { add: [{ use: careless, after: auth }] }\n`)
    gateway = await startGateway(settings, { pluginFolder })
  })
  after(() => gateway.stop())

  const ask = (next: string, body = chatBody('Which track?')) =>
    gateway.call('POST', '/v1/chat/completions', body, { 'x-next': next })

  for (const next of ['not awaited', 'not awaited in an async function']) {
    it(`gets the response behind it: ${next}`, async () => {
      const { status, body } = await ask(next)
      expect(status).to.equal(200)
      expect(body.choices[0].message.content).to.contain('track')
      const refused = await ask(next, {})
      expect(refused.status).to.equal(400)
      expect(refused.body.error.param).to.equal('messages')
      const list = await gateway.call('GET', '/v1/models', undefined, { 'x-next': next })
      expect(list.body.data).not.to.have.length(0)
    })
  }

  for (const next of ['twice', 'twice at once']) {
    it(`fails the request, and the log names the plugin: ${next}`, async () => {
      const { status, body } = await ask(next)
      expect(status).to.equal(500)
      expect(body.error.code).to.equal('internal_error')
      await gateway.wrote('plugin \\"careless\\" called next() more than once')
    })
  }

  it('fails the request if it throws what is no error', async () => {
    expect((await ask('throws undefined')).status).to.equal(500)
    expect((await ask('')).status).to.equal(200)
  })
})

/** Reads the body, as koa-bodyparser does, which keeps its text. */
const READER = `export default async (ctx, next) => {
  const chunks = []
  for await (const chunk of ctx.req) chunks.push(chunk)
  const text = String(Buffer.concat(chunks))
  ctx.request.body = { messages: [{ role: 'user', content: 'Something else' }] }
  if (ctx.get('x-keep') === 'text') ctx.request.rawBody = text
  await next()
}`

describe('Koa middleware that reads the body', () => {
  let gateway: RunningGateway
  before(async () => {
    const pluginFolder = await installAll({ reader: READER })
    const settings = await withSettings(`${UNLIMITED}plugins: { add: [{ use: reader, after: auth }] }\n`)
    gateway = await startGateway(settings, { pluginFolder })
  })
  after(() => gateway.stop())

  const ask = (keep: string, body: unknown = chatBody('Which track?')) =>
    gateway.call('POST', '/v1/chat/completions', body, { 'x-keep': keep })

  it('leaves the request as the client sent it', async () => {
    const { status, body } = await ask('text')
    expect(status).to.equal(200)
    expect(body.choices[0].message.content).to.contain('Which track?')
    expect((await gateway.call('GET', '/v1/models', undefined, { 'x-keep': 'text' })).status).to.equal(200)
    const broken = await ask('text', '{"messages": [')
    expect(broken.status).to.equal(400)
    expect(broken.body.error.code).to.equal('malformed_body')
    const deep = await ask('text', `{"messages": ${'['.repeat(500)}${']'.repeat(500)}}`)
    expect(deep.body.error.message).to.contain('nested')
  })

  it('fails the request if it keeps nothing of it', async () => {
    const { status, body } = await ask('')
    expect(status).to.equal(500)
    expect(body.error.message).to.contain('Middleware has read the request body.')
  })
})

/** Makes replies of many parts, events or characters. Its parts are methods of a class. */
const HUGE = `import { ReplyEvent } from 'signalbox'
class Huge {
  #count = 200_000
  reply({ headers }, next) {
    const how = headers['x-huge']
    const parts = Array(this.#count).fill({ type: 'text', text: 'ab' })
    const [start, finish] = [{ type: 'start', id: 'x', model: 'huge' }, { type: 'finish', reason: 'stop' }]
    const whole = new ReplyEvent([start, ...parts.slice(1000), finish])
    if (how === 'parts') return { type: 'whole', event: whole }
    if (how !== 'batch') return next()
    const events = [start, ...parts, finish].map((part) => new ReplyEvent([part]))
    return { type: 'stream', batches: (async function* () { yield events })() }
  }
  inspect({ headers }) {
    if (headers['x-huge'] !== 'events') return undefined
    return { transform: (event) => Array(this.#count).fill(event.withParts([{ type: 'text', text: 'ab' }])) }
  }
}
export default { name: 'huge', contract: 3, before: ['dispatch'], setup: () => new Huge() }`

describe('a plugin that makes a reply huge', () => {
  let gateway: RunningGateway
  before(async () => {
    const pluginFolder = await installAll({ huge: HUGE })
    const settings = await withSettings(`${UNLIMITED}plugins: { add: [{ use: huge, before: dispatch }] }\n`)
    gateway = await startGateway(settings, { pluginFolder })
  })
  after(() => gateway.stop())

  for (const [how, length] of [
    ['parts', 398_000],
    ['batch', 400_000],
    ['events', 400_000],
  ] as const) {
    it(`is answered with all of it: ${how}`, async () => {
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', chatBody('Hi'), {
        'x-huge': how,
      })
      expect(status).to.equal(200)
      expect(body.choices[0].message.content).to.have.length(length)
    })
  }
})
