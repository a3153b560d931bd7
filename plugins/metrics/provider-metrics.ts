import { Gauge, type Registry } from 'prom-client'
import type { RequestObserver, Target } from '../../core/contract/index.ts'
import { createCounter, createHistogram } from '../../core/util/metrics.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { CIRCUIT_STATES, type CircuitState } from '../../providers/shared/model-breaker.ts'

/** Records the outcome, duration and token usage of every provider call. */
export function observeProviderCalls(metrics: Registry, providers: ReadonlySet<string>): RequestObserver {
  const attempts = createCounter(metrics, {
    name: 'signalbox_provider_attempts_total',
    help: 'Provider calls by provider and outcome: ok, cancelled, or an error code.',
    labelNames: ['provider', 'outcome'],
  })
  const deployed = createCounter(metrics, {
    name: 'signalbox_deployment_attempts_total',
    help: 'Calls of providers with deployments by deployment and outcome: ok, cancelled, or an error code.',
    labelNames: ['provider', 'deployment', 'outcome'],
  })
  const { duration, timeToFirstChunk, tokens } = createGenAiMetrics(metrics)
  const labelOf = ({ provider }: Target) => (providers.has(provider) ? provider : 'other')

  return ({ exchange, endedAt, isAborted }) => {
    if (exchange === undefined) return
    const { operation = 'chat', usage } = exchange
    const isStream = exchange.reply?.type === 'stream'
    for (const { target, outcome, startedAt, ms } of exchange.attempts) {
      const provider = labelOf(target)
      attempts(provider, outcome).inc()
      if (target.deployment !== undefined) deployed(provider, target.deployment, outcome).inc()
      const name = OTEL_PROVIDER_NAMES[provider] ?? provider
      const model = target.entry?.id ?? 'other'
      let error = outcome === 'ok' ? undefined : outcome
      let totalMs = ms
      if (error === undefined && isStream) {
        timeToFirstChunk(operation, name, model).observe(ms / 1000)
        totalMs = endedAt - startedAt
        error = exchange.error?.code ?? (isAborted ? 'cancelled' : undefined)
      }
      const series =
        error === undefined ? duration(operation, name, model) : duration(operation, name, model, error)
      series.observe(totalMs / 1000)
      if (outcome !== 'ok' || usage === undefined || usage.isEstimated) continue
      tokens(operation, name, model, 'input').observe(usage.input)
      tokens(operation, name, model, 'output').observe(usage.output)
    }
  }
}

/** OpenTelemetry's names of providers, where they differ from ours. */
const OTEL_PROVIDER_NAMES: Readonly<Record<string, string>> = {
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
}

// The bucket boundaries are those of the semantic conventions.
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)

const COMMON_LABELS = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const

/**
 * Creates the client metrics of OpenTelemetry's semantic conventions for generative AI (`gen_ai.client.*`).
 */
function createGenAiMetrics(metrics: Registry) {
  const duration = createHistogram(metrics, {
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Time of a provider call until the end of the reply, including streaming.',
    labelNames: [...COMMON_LABELS, 'error_type'],
    buckets: SECONDS,
  })
  const timeToFirstChunk = createHistogram(metrics, {
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'Time from a streaming provider call to the first events of its stream.',
    labelNames: COMMON_LABELS,
    buckets: SECONDS,
  })
  const tokens = createHistogram(metrics, {
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a provider call by type: input (including cached) and output (including reasoning).',
    labelNames: [...COMMON_LABELS, 'gen_ai_token_type'],
    buckets: TOKENS,
  })

  return { duration, timeToFirstChunk, tokens }
}

/** Registers gauges that count circuits by provider and state, computed on each scrape. */
export function registerBreakerMetrics(
  metrics: Registry,
  breakers: CircuitBreakers,
  providers: ReadonlySet<string>,
): void {
  registerCircuitGauge('signalbox_provider_breakers', {
    help: 'Models that have been called, by provider and circuit breaker state.',
    states: CIRCUIT_STATES,
    circuits: breakers.circuits,
  })
  registerCircuitGauge('signalbox_provider_caller_breakers', {
    help: 'Pairs of a model and a caller whose circuit is not closed for this caller alone.',
    states: CIRCUIT_STATES.filter((state) => state !== 'closed'),
    circuits: breakers.callerCircuits,
  })

  function registerCircuitGauge(name: string, { help, states, circuits }: CircuitGauge): void {
    new Gauge({
      name,
      help,
      labelNames: ['provider', 'state'],
      registers: [metrics],
      collect() {
        for (const provider of providers) {
          for (const state of states) this.set({ provider, state }, 0)
        }
        for (const { provider, state } of circuits()) {
          if (providers.has(provider)) this.inc({ provider, state })
        }
      },
    })
  }
}

interface CircuitGauge {
  readonly help: string
  readonly states: readonly CircuitState[]
  readonly circuits: () => Iterable<{ readonly provider: string; readonly state: CircuitState }>
}
