import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import Koa from 'koa'
import { UnwatchedKoa } from '../../../../core/http/unwatched-koa.ts'

/** Returns the response of an app with one middleware. */
async function fetchFrom(app: Koa, middleware: Koa.Middleware) {
  app.use(middleware)
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/`)
    const type = response.headers.get('content-type')
    return { status: response.status, type, text: await response.text() }
  } finally {
    server.close()
  }
}

describe('UnwatchedKoa', () => {
  const cases: Readonly<Record<string, Koa.Middleware>> = {
    'no body': () => {},
    'an object': (ctx) => {
      ctx.body = { a: 1 }
    },
    'an object with a status': (ctx) => {
      ctx.status = 418
      ctx.body = { a: 1 }
    },
    'a stream': (ctx) => {
      ctx.body = Readable.from(['one', 'two'])
    },
    'no content': (ctx) => {
      ctx.body = null
    },
    'an exposed error': (ctx) => ctx.throw(403, 'not you'),
    'an error': () => {
      throw new Error('secret')
    },
    'a response that bypasses Koa': (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(201, { 'content-type': 'text/x' }).end('past')
    },
  }
  for (const [name, middleware] of Object.entries(cases)) {
    it(`sends the same response as Koa: ${name}`, async () => {
      const silent = (app: Koa) => app.on('error', () => {})
      const expected = await fetchFrom(silent(new Koa()), middleware)
      expect(await fetchFrom(silent(new UnwatchedKoa()), middleware)).to.deep.equal(expected)
    })
  }

  it('emits errors on the app', async () => {
    const app = new UnwatchedKoa()
    const messages: string[] = []
    app.on('error', ({ message }) => messages.push(message))
    await fetchFrom(app, () => {
      throw new Error('broken')
    })
    expect(messages).to.deep.equal(['broken'])
  })

  it('adds no listeners to a response that bypasses Koa, unlike Koa itself', async () => {
    const count = async (app: Koa) => {
      let listeners = 0
      await fetchFrom(app, (ctx) => {
        listeners = ctx.res.listenerCount('finish') + ctx.req.socket.listenerCount('error')
        ctx.respond = false
        ctx.res.end()
      })
      return listeners
    }
    expect(await count(new UnwatchedKoa())).to.be.below(await count(new Koa()))
  })
})
