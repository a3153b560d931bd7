import { Gauge, type Registry } from 'prom-client'
import type { RequestObserver, Target, Usage } from '../../core/contract/index.ts'
import { createCounter, createHistogram } from '../../core/util/metrics.ts'
import { BREAKER_STATES, type CircuitBreakers } from '../../providers/shared/breaker.ts'

/** Every call to a provider: what became of it, how long it took, what it used. */
export function observeProviderCalls(metrics: Registry, providers: ReadonlySet<string>): RequestObserver {
  const attempts = createCounter(metrics, {
    name: 'signalbox_provider_attempts_total',
    help: 'Calls to providers by their outcome: ok, or the code of the error.',
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

/** One call to a model, by OpenTelemetry's conventions for generative AI clients. Times in milliseconds. */
interface ModelCall {
  /** A stream began. */
  sawFirst(ms: number): void
  /** `error` is a code; left out when the call succeeded. */
  ended(ms: number, error?: string): void
  used(usage: Usage): void
}

/** Our providers that OpenTelemetry has another name for. */
const WELL_KNOWN_NAMES: Readonly<Record<string, string>> = { gemini: 'gcp.gemini', mistral: 'mistral_ai' }

/** Bucket boundaries are those that the conventions ask for. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)

/** Whatever endpoint it came from, a model is asked to chat. */
const OPERATION = 'chat'

const COMMON = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const

/** The `gen_ai.client.*` metrics, for calls to a provider and a model of ours, or to `other`. */
function createGenAiMetrics(metrics: Registry): (provider: string, model: string) => ModelCall {
  const duration = createHistogram(metrics, {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Calls to models until the end of the reply, streams included.',
    labelNames: [...COMMON, 'error_type'],
    buckets: SECONDS,
  })
  const first = createHistogram(metrics, {
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'From a call that asks for a stream to the first events of the stream.',
    labelNames: COMMON,
    buckets: SECONDS,
  })
  const tokens = createHistogram(metrics, {
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a call: input with cached ones, output with reasoning.',
    labelNames: [...COMMON, 'gen_ai_token_type'],
    buckets: TOKENS,
  })

  return (provider, model) => {
    const name = WELL_KNOWN_NAMES[provider] ?? provider
    return {
      sawFirst: (ms) => first(OPERATION, name, model).observe(ms / 1000),
      ended(ms, error) {
        const series =
          error === undefined ? duration(OPERATION, name, model) : duration(OPERATION, name, model, error)
        series.observe(ms / 1000)
      },
      used({ input, output }) {
        tokens(OPERATION, name, model, 'input').observe(input)
        tokens(OPERATION, name, model, 'output').observe(output)
      },
    }
  }
}

/** How many models of each provider are in which state; counted when somebody looks. */
export function registerBreakerMetrics(
  metrics: Registry,
  health: CircuitBreakers,
  providers: ReadonlySet<string>,
): void {
  new Gauge({
    name: 'signalbox_provider_breakers',
    help: 'Models that were called, by the state of their breaker.',
    labelNames: ['provider', 'state'],
    registers: [metrics],
    collect() {
      for (const provider of providers) for (const state of BREAKER_STATES) this.set({ provider, state }, 0)
      for (const { provider, state } of health.breakers())
        if (providers.has(provider)) this.inc({ provider, state })
    },
  })
}
