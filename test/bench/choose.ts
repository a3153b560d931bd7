import { readSettings } from '../../config/settings/settings.ts'
import type { ChatRequest } from '../../core/contract/index.ts'
import { buildAutomaticRoute } from '../../plugins/routing/build-route.ts'
import { requirementsOf } from '../../plugins/routing/requirements.ts'
import { createCircuitBreakers } from '../../providers/shared/breaker.ts'
import { createLatencyTracker } from '../../providers/shared/latency.ts'
import { market } from '../support/market.ts'

/**
 * Measures an automatic choice: `npx tsx test/bench/choose.ts`. The budget is 50 µs with 50 models.
 */
async function measure(): Promise<void> {
  const { breaker, models, modes } = readSettings({})
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
}

function ask(content: string) {
  const request: ChatRequest = { messages: [{ role: 'user', content }] }
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
