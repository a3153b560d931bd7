import { Histogram, type Registry } from 'prom-client'
import type { Usage } from '../../core/contract/index.ts'

/** One call to a model, by OpenTelemetry's conventions for generative AI clients. Times in milliseconds. */
export interface ModelCall {
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

const COMMON = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const

/** The `gen_ai.client.*` metrics, for calls to a provider and a model of ours, or to `other`. */
export function createGenAiMetrics(metrics: Registry): (provider: string, model: string) => ModelCall {
  const duration = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Calls to models until the end of the reply, streams included.',
    labelNames: [...COMMON, 'error_type'],
    buckets: SECONDS,
    registers: [metrics],
  })
  const first = new Histogram({
    name: 'gen_ai_client_operation_time_to_first_chunk_seconds',
    help: 'From a call that asks for a stream to the first events of the stream.',
    labelNames: COMMON,
    buckets: SECONDS,
    registers: [metrics],
  })
  const tokens = new Histogram({
    name: 'gen_ai_client_token_usage',
    help: 'Tokens of a call: input with cached ones, output with reasoning.',
    labelNames: [...COMMON, 'gen_ai_token_type'],
    buckets: TOKENS,
    registers: [metrics],
  })

  /** Bound once per model: to look labels up for every observation costs more than to observe. */
  function bind(provider: string, model: string): ModelCall {
    const labels = {
      gen_ai_operation_name: 'chat',
      gen_ai_provider_name: WELL_KNOWN_NAMES[provider] ?? provider,
      gen_ai_request_model: model,
    }
    const succeeded = duration.labels(labels)
    const begun = first.labels(labels)
    const inputs = tokens.labels({ ...labels, gen_ai_token_type: 'input' })
    const outputs = tokens.labels({ ...labels, gen_ai_token_type: 'output' })
    return {
      sawFirst: (ms) => begun.observe(ms / 1000),
      ended(ms, error) {
        if (error === undefined) succeeded.observe(ms / 1000)
        else duration.observe({ ...labels, error_type: error }, ms / 1000)
      },
      used({ input, output }) {
        inputs.observe(input)
        outputs.observe(output)
      },
    }
  }

  const calls = new Map<string, ModelCall>()
  return (provider, model) => {
    const key = `${provider}:${model}`
    const call = calls.get(key) ?? bind(provider, model)
    calls.set(key, call)
    return call
  }
}
