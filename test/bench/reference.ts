/**
 * A minimal gateway: Koa, koa-body and an undici pool. It parses the body, forwards it to the same path and
 * returns the parsed response; streams are piped. It checks no keys and logs nothing. `WORKERS`: the number
 * of processes that share the port; one without a primary by default.
 */
import cluster from 'node:cluster'
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { Pool } from 'undici'

const { UPSTREAM = '', WORKERS } = process.env

if (WORKERS === undefined || cluster.isWorker) serve()
else for (let worker = 0; worker < Number(WORKERS); worker++) cluster.fork()

function serve(): void {
  const pool = new Pool(UPSTREAM)
  const app = new Koa()
  app.silent = true
  app.use(koaBody({ jsonLimit: '20mb' }))
  app.use(async (ctx) => {
    const { statusCode, headers, body } = await pool.request({
      method: 'POST',
      path: ctx.url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(ctx.request.body),
    })
    ctx.status = statusCode
    if (headers['content-type'] === 'text/event-stream') {
      ctx.type = 'text/event-stream'
      // A client that leaves ends the stream with an error, which nobody else handles.
      body.on('error', () => {})
      ctx.body = body
    } else ctx.body = await body.json()
  })
  const server = app.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
  })
}
