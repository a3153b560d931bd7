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

  const CASES = PARTS.flatMap((part) => [false, true].map((stream) => ({ part, stream })))
  const answers = new Map<string, { status: number; text: string; id: string | null }>()
  let records: readonly { x_request_id: string; cost_usd: number }[]
  let spentUsd: number

  const keyOf = ({ part, stream }: (typeof CASES)[number]) => `${part}, ${stream ? 'streamed' : 'whole'}`

  // One gateway ends while all parts wait, and another one reads what was recorded.
  before(async () => {
    const { environment, options } = await environmentOf()
    const gateway = await startGateway(environment, { ...options, log: 'files' })
    await setBudget(gateway, budgetOf.user(1), { limit_usd: 100 })
    const sent = []
    for (const each of CASES) {
      const begun = once(process, `never:${each.part}`)
      const answered = send(gateway, each.part, each.stream).then(
        async (response) => ({
          status: response.status,
          text: await receivedText(response),
          id: response.headers.get('x-request-id'),
        }),
        (error: Error) => ({ status: 0, text: String(error.cause ?? error), id: null }),
      )
      sent.push(answered.then((answer) => answers.set(keyOf(each), answer)))
      await begun
    }
    await gateway.stop()
    await Promise.all(sent)
    const next = await startGateway(environment, { ...options, demoKey: gateway.demoKey, log: 'files' })
    records = (await next.call('GET', '/admin/requests?limit=1000', undefined, AS_ADMIN)).body.data
    spentUsd = (await readBudget(next, budgetOf.user(1))).spent_usd
    await next.stop()
  })

  for (const each of CASES)
    it(`answers and records its request: ${keyOf(each)}`, () => {
      const { part } = each
      const { status, text, id } = answers.get(keyOf(each))!
      // It has no time limit, so the connection is closed.
      if (part === 'middleware') expect(status).to.equal(0)
      else expect(status, text).not.to.equal(0)
      const isSent = UNLIMITED_PARTS.includes(part) || (status === 200 && !text.includes('[DONE]'))
      expect(isSent || status >= 400, `${status} ${text}`).to.equal(true)
      if (UNRECORDED.includes(part)) return
      const found = records.filter(({ x_request_id }) => x_request_id === id)
      expect(found, JSON.stringify(records)).to.have.length(1)
      if (ANSWERED.includes(part)) expect(found[0]?.cost_usd).to.be.greaterThan(0)
    })

  it('counts what all of them cost', () => {
    const sum = records.reduce((total, { cost_usd }) => total + cost_usd, 0)
    expect(spentUsd).to.be.closeTo(sum, 1e-9).and.to.be.above(0)
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
