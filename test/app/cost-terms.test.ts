import { expect } from 'chai'
import type { Usage } from '../../core/contract/index.ts'
import { budgetOf, setBudget } from '../support/budgets.ts'
import { ADMIN_KEY } from '../support/gateway.ts'
import { scrape, scrapeUntil } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import {
  type Combination,
  combinations,
  encodeReply,
  FORMATS,
  type FormatName,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const COUNTS = { input: 1000, output: 500 }

/**
 * The terms that a reply reports: what its price is multiplied by, or the fees of its tools in USD. Null: the
 * cost is unknown. Formats that are missing report no such terms.
 */
const TERMS: readonly {
  readonly name: string
  readonly usage: Partial<Usage>
  readonly factors?: Partial<Record<FormatName, number | null>>
  readonly fees?: Partial<Record<FormatName, number | null>>
}[] = [
  {
    name: 'the tier flex',
    usage: { tier: 'flex' },
    factors: { openai: 0.5, responses: 0.5, anthropic: null, gemini: 0.5, mistral: null, compatible: null },
  },
  {
    name: 'the tier priority',
    usage: { tier: 'priority' },
    factors: { openai: 2, responses: 2, anthropic: null, gemini: 1.8, mistral: null, compatible: null },
  },
  {
    name: 'the tier batch',
    usage: { tier: 'batch' },
    factors: { openai: 0.5, responses: 0.5, anthropic: 0.5, gemini: 0.5, mistral: null, compatible: null },
  },
  {
    name: 'seven searches',
    usage: { toolCalls: { web_search: 7 } },
    fees: {
      openai: 0.025,
      responses: 0.07,
      anthropic: 0.07,
      gemini: 7 * 0.014,
      mistral: 0.21,
      compatible: null,
    },
  },
]

describe('the cost of a reply', function () {
  this.timeout(60_000)
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  /** Asks with a provider that reports this usage. Returns the cost in the ledger and the answer. */
  async function costOf(combination: Combination, usage: Partial<Usage>): Promise<number | null> {
    bench.respond((call) => encodeReply(call, { usage: { ...COUNTS, ...usage } }))
    const { status, headers, raw } = await bench.ask(combination)
    expect(status, raw).to.equal(200)
    const authorization = `Bearer ${bench.gateway.demoKey}`
    const path = `/v1/requests/${headers.get('x-request-id')}`
    const { body } = await bench.gateway.call('GET', path, undefined, { authorization })
    const { cost_usd } = body.data ?? body
    const shown = [...raw.matchAll(/"(?:cost_usd|estimated_cost)":([^,}]+)/g)].map(([, text = '']) =>
      JSON.parse(text),
    )
    expect(shown.at(-1)).to.equal(cost_usd)
    return cost_usd
  }

  for (const combination of combinations()) {
    const { format, title } = combination
    it(`is that of its service tier and of its tools: ${title}`, async () => {
      const usual = await costOf(combination, {})
      expect(usual).to.be.a('number').above(0)
      for (const { name, usage, factors, fees } of TERMS) {
        const term = (factors ?? fees)?.[format]
        if (term === undefined) continue
        const cost = await costOf(combination, usage)
        if (term === null) expect(cost, name).to.equal(null)
        else expect(cost, name).to.be.closeTo(factors ? Number(usual) * term : Number(usual) + term, 1e-9)
      }
    })
  }

  for (const format of ['openai', 'compatible'] as const)
    it(`agrees with metrics and the usage of budgets: ${format}`, async () => {
      const { model } = FORMATS[format]
      const user = await newUser(bench.gateway)
      await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 5 })
      const labels = { provider: format === 'openai' ? 'openai' : 'acme', model: model.split(':')[1] ?? '' }
      const unpriced = { provider: labels.provider, reason: 'price' }
      const { sum: sumBefore } = await scrape(bench.gateway)
      const before = {
        signalbox_cost_usd_total: sumBefore('signalbox_cost_usd_total', labels),
        signalbox_cost_unknown_total: sumBefore('signalbox_cost_unknown_total', unpriced),
      }
      bench.respond((call) => encodeReply(call, { usage: { ...COUNTS, tier: 'priority' } }))
      const asked = { model, max_tokens: 8000, messages: [{ role: 'user', content: 'Hi' }] }
      const { body } = await user.call('POST', '/v1/chat/completions', asked)
      const { cost_usd } = body.signalbox
      const metrics = await scrapeUntil(
        bench.gateway,
        ({ sum }) =>
          sum('signalbox_cost_usd_total', labels) > before.signalbox_cost_usd_total ||
          sum('signalbox_cost_unknown_total', unpriced) > before.signalbox_cost_unknown_total,
      )
      const spent = (await readBudget(bench, user.id)).spent_usd
      if (format === 'openai') {
        expect(
          metrics.sum('signalbox_cost_usd_total', labels) - before.signalbox_cost_usd_total,
        ).to.be.closeTo(cost_usd, 1e-9)
        expect(spent).to.be.closeTo(cost_usd, 1e-9)
      } else {
        expect(cost_usd).to.equal(null)
        expect(
          metrics.sum('signalbox_cost_unknown_total', unpriced) - before.signalbox_cost_unknown_total,
        ).to.equal(1)
        // What was reserved counts: the longest reply.
        expect(spent).to.be.above((8000 * 1.6) / 1e6)
      }
    })

  it('is reserved with the most expensive tier that the request may get', async () => {
    const { model } = FORMATS.openai
    const usual = await costOf({ dialect: 'chat', format: 'openai', stream: false }, {})
    for (const [service_tier, factor] of [
      ['default', 1],
      ['flex', 1],
      ['auto', 2],
      ['priority', 2],
    ] as const) {
      const user = await newUser(bench.gateway)
      const body = {
        model,
        max_tokens: 500,
        service_tier,
        messages: [{ role: 'user', content: 'w '.repeat(990) }],
      }
      await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 0.9 * factor * Number(usual) })
      expect((await user.call('POST', '/v1/chat/completions', body)).status, service_tier).to.equal(402)
      await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 1.1 * factor * Number(usual) })
      expect((await user.call('POST', '/v1/chat/completions', body)).status, service_tier).to.equal(200)
    }
  })

  // Names that every JavaScript object has.
  for (const tier of ['constructor', '__proto__'])
    it(`is never more nor less for a tier that nobody knows: ${tier}`, async () => {
      const user = await newUser(bench.gateway)
      const body = {
        model: FORMATS.openai.model,
        max_tokens: 5000,
        messages: [{ role: 'user', content: 'Hi' }],
      }
      await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 0.01 })
      const asked = await user.call('POST', '/v1/chat/completions', { ...body, service_tier: tier })
      expect(asked.status, JSON.stringify(asked.body)).to.equal(402)

      await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 5 })
      for (const usage of [{ tier }, { toolCalls: { [`${tier}`]: 1 } }]) {
        bench.respond((call) => encodeReply(call, { usage: { ...COUNTS, ...usage } }))
        expect((await user.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
        expect((await readBudget(bench, user.id)).remaining_usd).to.be.within(0, 5)
      }
    })

  it('is reserved with the searches that the request allows', async () => {
    const user = await newUser(bench.gateway)
    const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 5 }]
    const { model } = FORMATS.anthropic
    const body = { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], tools }
    bench.respond((call) => encodeReply(call, { usage: { ...COUNTS, toolCalls: { web_search: 5 } } }))
    // The whole context: what a search adds to the prompt is not known before.
    const context = (1_000_000 * 10) / 1e6
    await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: 0.04 })
    expect((await user.call('POST', '/v1/messages', body)).status).to.equal(402)
    await setBudget(bench.gateway, budgetOf.user(user.id), { limit_usd: context + 0.06 })
    const { status, body: answer } = await user.call('POST', '/v1/messages', body)
    expect(status, JSON.stringify(answer)).to.equal(200)
    expect((await readBudget(bench, user.id)).spent_usd).to.be.within(0.05, 0.07)
  })
})

async function readBudget({ gateway }: TranslationBench, userId: number) {
  const admin = { authorization: `Bearer ${ADMIN_KEY}` }
  return (await gateway.call('GET', `/admin/users/${userId}/budget`, undefined, admin)).body.data
}
