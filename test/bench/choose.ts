import { readSettings } from '../../config/settings/settings.ts'
import type { ChatRequest } from '../../core/contract/index.ts'
import { buildAutomaticRoute } from '../../plugins/routing/build-route.ts'
import { requirementsOf } from '../../plugins/routing/requirements.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { createCircuitBreakers } from '../../providers/shared/circuit.ts'
import { createProviderClient } from '../../providers/shared/client.ts'
import { createLatencyTracker } from '../../providers/shared/latency.ts'
import { createParameterFit } from '../../providers/shared/parameter-fit.ts'
import { market } from '../support/market.ts'

/**
 * Measures an automatic choice: `npx tsx test/bench/choose.ts`. The budget is 50 µs with 50 models.
 */
async function measure(): Promise<void> {
  const { breaker, models, modes, providers, timeouts } = readSettings({})
  const latency = createLatencyTracker()
  const health = createCircuitBreakers(breaker)
  for (const entry of models) {
    const target = { provider: entry.provider, model: entry.id, entry }
    latency.recordFirstEvent(target, 500)
    await health.guard(target, { caller: 1, isRetry: false }, async () => {})
  }
  const shop = market(models, {
    weights: modes,
    latencyOf: latency.estimateMs,
    isUsable: health.isUsable,
  })
  const clients = new Map(
    Object.entries(providers).map(([id, { capabilities, base_url: baseUrl = '', format }]) => {
      const adapter = ADAPTERS.find((each) => each.format === format)
      if (adapter === undefined) throw new Error(`There is no adapter for ${format}.`)
      return [id, { client: createProviderClient({ id, adapter, baseUrl, timeouts }), capabilities }]
    }),
  )
  const fitting = { ...shop, fitParameters: createParameterFit((id) => clients.get(id)) }
  const short = ask('Which track does the night train leave from?')
  const long = ask('Which track? '.repeat(3000))

  report(`choose among ${models.length} models, short request`, () =>
    buildAutomaticRoute('balance', 'best', short, shop),
  )
  report('of which reading its needs', () => requirementsOf(short.request))
  report(`choose among ${models.length} models, 39,000 characters`, () =>
    buildAutomaticRoute('balance', 'best', long, shop),
  )
  report('of which reading its needs', () => requirementsOf(long.request))
  report('choose by the parameters, without any', () =>
    buildAutomaticRoute('balance', 'best', short, fitting),
  )
  const warm = ask('Which track?', { temperature: 0.3, tools: [tool], tool_choice: 'auto' })
  report('choose by temperature and tools', () => buildAutomaticRoute('balance', 'best', warm, fitting))
  let salt = 0
  report('choose by a field that no request had before', () => {
    salt += 1
    return buildAutomaticRoute('balance', 'best', ask('Which track?', { x: salt.toString(36) }), fitting)
  })
}

const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }

function ask(content: string, parameters: object = {}) {
  const request: ChatRequest = { messages: [{ role: 'user', content }], ...parameters }
  return { request, userId: 1, preferences: [] }
}

const RUNS = 20_000

function report(what: string, run: () => unknown): void {
  for (let warm = 0; warm < RUNS / 2; warm++) run()
  const begun = performance.now()
  for (let count = 0; count < RUNS; count++) run()
  const microseconds = ((performance.now() - begun) * 1000) / RUNS
  process.stdout.write(`${what}: ${microseconds.toFixed(1)} µs\n`)
}

await measure()
