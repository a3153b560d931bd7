import { once } from 'node:events'
import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { budgetOf, readBudget, setBudget } from '../support/budgets.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { startHoldingProvider } from '../support/holding-provider.ts'
import { installAll, listPlugins } from '../support/plugins.ts'
import { openSocket, readToEnd } from '../support/raw-http.ts'
import { chatHead } from '../support/slow-client.ts'
import { receivedText } from '../support/streams.ts'

/** Never ends in the part that the header `x-never` names, and reports when it has begun. */
const NEVER = `const waitFor = (headers, name) => {
  if (headers['x-never'] !== name) return undefined
  process.emit('never:' + name)
  return new Promise(() => undefined)
}
export default {
  name: 'never', contract: 3, after: ['auth'], before: ['dispatch'],
  setup: () => ({
    admit: ({ headers }) => waitFor(headers, 'admit'),
    decide: ({ headers }) => waitFor(headers, 'decide'),
    confirm: ({ headers }) => waitFor(headers, 'confirm'),
    async reply({ headers }, next) {
      await waitFor(headers, 'reply')
      const reply = await next()
      await waitFor(headers, 'reply behind next')
      return reply
    },
    inspect: ({ headers }) => ({
      transform: (event) => waitFor(headers, 'transform') ?? [event],
      flush: () => waitFor(headers, 'flush') ?? [],
    }),
    rejected: ({ headers }) => waitFor(headers, 'rejected'),
    middleware: (ctx, next) => waitFor(ctx.headers, 'middleware') ?? next(),
    observe: ({ exchange }) => exchange && waitFor(exchange.headers, 'observe'),
    endpoints: [{
      method: 'GET', path: '/v1/never', access: { type: 'user' }, operationId: 'never', summary: 'Never ends.',
      tags: [], responses: { 200: { description: 'Never.' } }, handle: ({ headers }) => waitFor(headers, 'handle'),
    }],
  }),
}`

const PARTS = [...NEVER.matchAll(/headers, '([a-z ]+)'\)/g)].map(([, name = '']) => name)

/** The provider has answered when these begin. */
const ANSWERED = ['reply behind next', 'transform', 'flush', 'observe']

/** Without a time limit: the response has ended, or is up to the middleware. */
const UNLIMITED_PARTS = ['observe', 'middleware']

/** No exchange, or no record: the request is not one to a model, or was refused before. */
const UNRECORDED = ['admit', 'middleware', 'handle']

describe('the end of a gateway while a plugin never ends', function () {
  this.timeout(120_000)

  const environmentOf = async () => {
    const folder = await installAll({ never: NEVER })
    const settings = 'timeouts: { drain_ms: 100, plugin_ms: 60000 }\n'
    const CONFIG = await listPlugins(folder, { add: [{ use: 'never', before: 'firewall' }] }, settings)
    return { environment: { CONFIG }, options: { pluginFolder: folder, dataDir: await makeFolder() } }
  }

  const send = (gateway: RunningGateway, part: string, stream: boolean) => {
    const headers = {
      ...{ authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      'x-never': part,
    }
    if (part === 'handle') return fetch(`${gateway.url}/v1/never`, { headers })
    const body = part === 'rejected' ? { ...chatBody('hello'), model: 'none' } : chatBody('hello', { stream })
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'gpt-4o', ...body }),
    })
  }

  for (const stream of [false, true])
    for (const part of PARTS)
      it(`answers, records and counts its request: ${part}, ${stream ? 'streamed' : 'whole'}`, async () => {
        const { environment, options } = await environmentOf()
        const gateway = await startGateway(environment, { ...options, log: 'files' })
        await setBudget(gateway, budgetOf.user(1), { limit_usd: 100 })
        const begun = once(process, `never:${part}`)
        const answer = send(gateway, part, stream).then(
          async (response) => ({ status: response.status, text: await receivedText(response) }),
          (error: Error) => ({ status: 0, text: String(error.cause ?? error) }),
        )
        await begun
        await gateway.stop()
        const { status, text } = await answer
        // It has no time limit, so the connection is closed.
        if (part === 'middleware') expect(status).to.equal(0)
        else expect(status, text).not.to.equal(0)
        const isSent = UNLIMITED_PARTS.includes(part) || (status === 200 && !text.includes('[DONE]'))
        expect(isSent || status >= 400, `${status} ${text}`).to.equal(true)

        const next = await startGateway(environment, { ...options, demoKey: gateway.demoKey, log: 'files' })
        const { data } = (await next.call('GET', '/admin/requests', undefined, AS_ADMIN)).body
        if (!UNRECORDED.includes(part)) expect(data, JSON.stringify(data)).to.have.length(1)
        if (ANSWERED.includes(part)) expect(data[0].cost_usd).to.be.greaterThan(0)
        const sum = data.reduce((total: number, { cost_usd }: { cost_usd: number }) => total + cost_usd, 0)
        expect((await readBudget(next, budgetOf.user(1))).spent_usd).to.be.closeTo(sum, 1e-9)
        await next.stop()
      })
})

describe('the end of a gateway at an awkward moment', function () {
  this.timeout(60_000)

  it('closes idle connections and those of unfinished uploads, and calls no provider', async () => {
    const provider = await startHoldingProvider()
    const folder = await installAll({})
    const CONFIG = await listPlugins(folder, { add: [] }, 'timeouts: { drain_ms: 100 }\n')
    const environment = { CONFIG, OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: provider.url }
    const gateway = await startGateway(environment)
    const [idle, uploading] = [await openSocket(gateway.url), await openSocket(gateway.url)]
    uploading.write(`${chatHead(gateway, 1000)}{"messages": [`)
    idle.write(`GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    await once(idle, 'data')
    const [answer] = await Promise.all([readToEnd(uploading), readToEnd(idle), gateway.stop()])
    expect(answer).not.to.match(/^HTTP\/1\.1 200 /)
    expect(provider.receivedCount()).to.equal(0)
    provider.close()
  })
})
