import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import type { EndedExchange } from '../../core/contract/index.ts'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody } from '../support/bodies.ts'
import { askCached, startCachingGateway } from '../support/cache.ts'
import { type CountedTokens, type PriceOf, readPrices, tokensOf } from '../support/costs.ts'
import { type Body, DIALECTS, lastWithFields } from '../support/dialects.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS } from '../support/providers.ts'
import { IS_FULL, ROUNDS } from '../support/rounds.ts'
import { completion, type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'
import { disconnectInMidStream } from '../support/streams.ts'

const REQUESTS = ROUNDS.costs
/** One of two asks the same question twice, also in the quick form. */
const CLIENTS = IS_FULL ? 8 : 2

/** Replies with cached input, cache writes and reasoning, in the tier of long requests. */
const USAGE = {
  prompt_tokens: 250_000,
  completion_tokens: 1234,
  prompt_tokens_details: { cached_tokens: 100_001, cache_write_tokens: 50_003 },
  completion_tokens_details: { reasoning_tokens: 400 },
}

const scriptedSettings = (url: string) => `
breaker: { min_requests: 1000000 }
providers:
  scripted: { format: openai, base_url: "${url}", auth: none, capabilities: { json: none, logit_bias: false, seed: false } }
models:
  - id: tiered
    provider: scripted
    context: 1000000
    max_output: 100000
    price:
      input: 1.1
      output: 4.4
      above: { input_tokens: 200000, input: 2.2, cached: 0.275, cache_write: 2.75, output: 8.8 }
    quality: 1
    latency_ms: 100000
    capabilities: { tools: false, images: false, json: none }
`

/** Hands what the gateway itself knows of a request to the test, which runs in the same process. */
const OBSERVER = `export default {
  name: 'observer',
  contract: 3,
  setup: () => ({
    observe({ exchange }) {
      if (exchange === undefined) return
      const { target, attempts, usage, costUsd } = exchange
      globalThis.observedCosts.push({ target, attempts, usage, costUsd })
    },
  }),
}`

type Observed = Pick<EndedExchange, 'target' | 'attempts' | 'usage' | 'costUsd'>

// The cast is safe: no other code uses this property.
const shared = globalThis as unknown as { observedCosts?: Observed[] }

describe('the sums of costs', function () {
  this.timeout(1_800_000)
  let sandbox: Sandbox
  let scripted: ScriptedProvider
  let gateway: RunningGateway
  let priceOf: PriceOf
  before(async () => {
    shared.observedCosts = []
    sandbox = await startSandbox()
    scripted = await startScriptedProvider()
    scripted.play({ body: { ...completion({ content: 'Long.' }), usage: USAGE } })
    const observer = path.join(await makeFolder(), 'observer.mjs')
    await writeFile(observer, OBSERVER)
    const more = scriptedSettings(scripted.url)
    gateway = await startCachingGateway(sandbox, { more, plugins: [observer] })
    priceOf = await readPrices(gateway)
  })
  after(async () => {
    delete shared.observedCosts
    await gateway?.stop()
    await sandbox?.close()
    scripted?.close()
  })

  /** What a request costs by its answer: the answer's own figure, and the test's. */
  interface Bill {
    readonly shown: number
    readonly computed: number
  }

  const FREE: Bill = { shown: 0, computed: 0 }

  async function askAndBill(key: string, url: string, body: object, headers = {}): Promise<Bill> {
    const answer = await askCached(key, url, body, headers)
    expect(answer.status, answer.text).to.equal(200)
    const last: Body = answer.body ?? lastWithFields(answer.text)
    if (last.signalbox.cache === 'hit') return { shown: Number(last.metadata.cost_usd), computed: 0 }
    const computed = priceOf(answer.headers.get('x-model') ?? '', tokensOf(last))
    return { shown: Number(last.metadata.cost_usd), computed }
  }

  type Ask = (number: number, key: string) => Promise<Bill>

  const { 'chat completions': chat, responses, messages, route } = DIALECTS
  const modelOf = (number: number) => MODELS[PROVIDERS[number % PROVIDERS.length] ?? ''] ?? ''
  const usageOptions = { stream_options: { include_usage: true } }
  const noStore = { 'x-cache': 'no-store' }

  const KINDS: Readonly<Record<string, Ask>> = {
    'a whole completion': (number, key) =>
      askAndBill(key, chat.url(gateway), chat.body(modelOf(number), `Whole ${number}`), noStore),
    'a streamed completion with reasoning': (number, key) => {
      const body = chat.body(modelOf(number), `Stream ${number}`)
      const more = { stream: true, reasoning_effort: 'low', ...usageOptions }
      return askAndBill(key, chat.url(gateway), { ...body, ...more }, noStore)
    },
    'a response, whole or streamed': (number, key) => {
      const body = { ...responses.body(modelOf(number), `Response ${number}`), store: false }
      return askAndBill(key, responses.url(gateway), { ...body, stream: number % 2 === 0 })
    },
    'a message with thinking, whole or streamed': (number, key) => {
      const body = messages.body(modelOf(number), `Message ${number}`)
      const thinking = { type: 'enabled', budget_tokens: 1024 }
      return askAndBill(key, messages.url(gateway), { ...body, thinking, stream: number % 2 === 0 })
    },
    'direct routing': (number, key) =>
      askAndBill(key, route.url(gateway), route.body('', `Route ${number}`), noStore),
    'a question that was asked before': (number, key) => {
      const body = chat.body('gpt-4o', `Question ${number % 2}`)
      return askAndBill(key, chat.url(gateway), { ...body, stream: number % 3 === 0, ...usageOptions })
    },
    'cached tokens and a tier': (_, key) =>
      askAndBill(key, chat.url(gateway), chat.body('scripted:tiered', 'Long'), noStore),
    'a failover': (number, key) => {
      const text = `Failover [[sandbox:status=500 retry-after=${number + 1} times=1]]`
      return askAndBill(key, chat.url(gateway), chat.body('auto', text), noStore)
    },
    'a client that disconnects': async (number, key) => {
      const body = chatBody(`Leave ${number} [[sandbox:token-delay=5]]`, { model: modelOf(number) })
      await disconnectInMidStream({ ...gateway, demoKey: key }, body, 'Leave')
      return FREE
    },
    'a stream that breaks off': async (number, key) => {
      const body = chat.body(modelOf(number), `Break ${number} [[sandbox:error-mid=5 token-delay=2]]`)
      await askCached(key, chat.url(gateway), { ...body, stream: true })
      return FREE
    },
    'a refused request': async (number, key) => {
      const { status } = await askCached(key, chat.url(gateway), chat.body(`no-such-${number}`, 'Hello'))
      expect(status).to.equal(404)
      return FREE
    },
    'a model without a price': async (number, key) => {
      const { body } = await askCached(key, chat.url(gateway), chat.body('openai:unlisted', `Hi ${number}`))
      expect(body.signalbox.cost_usd).to.equal(null)
      return FREE
    },
  }

  it(`of ${REQUESTS} requests of all kinds agree: answers, metrics, plugins, and the test's own`, async () => {
    const bills: Bill[] = []
    const asks = Object.values(KINDS)
    let next = 0
    const client = async () => {
      const { key } = await newUser(gateway)
      for (let number = next++; number < REQUESTS; number = next++) {
        const ask = asks[number % asks.length] ?? expect.fail()
        bills.push(await ask(number, key))
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))

    const observed = shared.observedCosts ?? []
    const { sum } = await scrapeUntil(gateway, () => observed.length === REQUESTS)
    const nanos = (usd: number) => Math.round(usd * 1e9)
    const total = (values: readonly number[]) => values.reduce((all, usd) => all + nanos(usd), 0)

    // Answers: what they show is what their usage costs.
    expect(total(bills.map(({ shown }) => shown))).to.equal(total(bills.map(({ computed }) => computed)))
    expect(bills.filter(({ shown }) => shown > 0).length).to.be.above(REQUESTS / 3)

    // Replies that ended early are estimated, by the same prices; hits cost nothing.
    const estimated = observed.filter(({ usage }) => usage?.isEstimated)
    const early = total(estimated.map(({ costUsd }) => costUsd ?? expect.fail('no cost')))
    expect(early).to.equal(
      total(estimated.map((exchange) => priceOf(modelNameOf(exchange), countOf(exchange)))),
    )
    expect(estimated.length).to.be.at.least(Math.floor((2 * REQUESTS) / asks.length) - 1)
    const hits = observed.filter(({ attempts, usage }) => attempts.length === 0 && usage !== undefined)
    expect(hits).not.to.be.empty
    expect(hits.every(({ costUsd }) => costUsd === 0)).to.equal(true)

    // Metrics and plugins have both; what is unknown is in neither.
    const answered = total(bills.map(({ shown }) => shown))
    expect(total(observed.map(({ costUsd }) => costUsd ?? 0))).to.equal(answered + early)
    expect(nanos(sum('signalbox_cost_usd_total'))).to.equal(answered + early)
    const unknown = observed.filter(({ costUsd }) => costUsd === null)
    expect(unknown.length).to.equal(Math.floor(REQUESTS / asks.length))
    expect(sum('signalbox_cost_unknown_total')).to.equal(unknown.length)

    // The ledger has every request.
    const { body } = await gateway.call('GET', '/admin/usage', undefined, AS_ADMIN)
    const [{ requests, cost_usd, cache_hits, unknown_costs }] = body.data
    expect({ requests, cache_hits, unknown_costs, cost: nanos(cost_usd) }).to.deep.equal({
      requests: REQUESTS,
      cache_hits: hits.length,
      unknown_costs: unknown.length,
      cost: answered + early,
    })
    const byModel = await gateway.call('GET', '/admin/usage?group_by=model', undefined, AS_ADMIN)
    const costs = byModel.body.data.map((group: { cost_usd: number }) => group.cost_usd)
    expect(total(costs)).to.equal(answered + early)
  })

  const modelNameOf = ({ target, attempts }: Observed) => (target ?? attempts.at(-1)?.target)?.model ?? ''

  function countOf({ usage }: Observed): CountedTokens {
    const { input, output, cached = 0, cacheWrite = 0 } = usage ?? expect.fail('no usage')
    return { input, output, cached, cacheWrite }
  }
})
