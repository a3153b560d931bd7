import type { Registry } from 'prom-client'
import type { RequestObserver, Target } from '../../core/contract/index.ts'
import { createCounter } from '../../core/metrics/counter.ts'
import { createGenAiMetrics } from './gen-ai.ts'

/** Every call to a vendor: what became of it, how long it took, what it used. */
export function observeVendorCalls(metrics: Registry, providers: ReadonlySet<string>): RequestObserver {
  const attempts = createCounter(metrics, {
    name: 'signalbox_provider_attempts_total',
    help: 'Calls to vendors by their outcome: ok, or the code of the error.',
    labelNames: ['provider', 'outcome'],
  })
  const callTo = createGenAiMetrics(metrics)
  const nameOf = ({ provider }: Target) => (providers.has(provider) ? provider : 'other')

  return ({ exchange, endedAt, isAborted }) => {
    if (exchange === undefined) return
    const isStream = exchange.reply?.type === 'stream'
    for (const { target, outcome, startedAt, ms } of exchange.attempts) {
      const provider = nameOf(target)
      attempts(provider, outcome).inc()
      const call = callTo(provider, target.entry?.id ?? 'other')
      if (outcome !== 'ok') {
        call.ended(ms, outcome)
      } else if (isStream) {
        call.sawFirst(ms)
        call.ended(endedAt - startedAt, exchange.error?.code ?? (isAborted ? 'cancelled' : undefined))
      } else {
        call.ended(ms)
      }
      if (outcome === 'ok' && exchange.usage !== undefined) call.used(exchange.usage)
    }
  }
}
