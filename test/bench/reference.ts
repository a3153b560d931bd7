/** What a gateway can at best be: Koa, koa-body and an undici pool that hand everything on. Whole answers are parsed, streams piped. */
import Koa from 'koa'
import { koaBody } from 'koa-body'
import { Pool } from 'undici'

const pool = new Pool(process.env.UPSTREAM ?? '')
const app = new Koa()
app.use(koaBody({ jsonLimit: '20mb' }))
app.use(async (ctx) => {
  const body = ctx.request.body as { stream?: boolean }
  const response = await pool.request({
    method: 'POST',
    path: '/chat/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (body.stream) {
    ctx.type = 'text/event-stream'
    ctx.body = response.body
  } else ctx.body = await response.body.json()
})
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
