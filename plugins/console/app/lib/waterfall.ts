import type { RequestRecord } from './schemas.ts'

/** A step of a request, in milliseconds since it arrived. */
export interface WaterfallStep {
  readonly label: string
  readonly kind: 'gateway' | 'wait' | 'call' | 'failed' | 'stream'
  readonly startMs: number
  readonly endMs: number
  /** Such as the outcome of a call. */
  readonly note?: string
}

type TimedRecord = Pick<
  RequestRecord,
  'times' | 'attempts' | 'error' | 'stream' | 'cache_hit' | 'latency_ms' | 'first_token_ms'
>

/** Returns what a request did when, in order. Empty if it was not recorded. */
export function toWaterfall(record: TimedRecord): readonly WaterfallStep[] {
  const { times, attempts, latency_ms: endMs } = record
  if (times === null && !attempts.some(({ start_ms }) => start_ms !== undefined)) return []
  const steps = toFirstSteps(record)
  let atMs = times?.decided_ms ?? steps.at(-1)?.endMs ?? 0
  for (const [index, { provider, model, deployment, outcome, ms, start_ms = atMs }] of attempts.entries()) {
    if (start_ms > atMs)
      steps.push({
        label: index === 0 ? 'Queue' : 'Retry delay',
        kind: 'wait',
        startMs: atMs,
        endMs: start_ms,
      })
    atMs = start_ms + ms
    steps.push({
      label: `${provider}/${model}${deployment ? ` at ${deployment}` : ''}`,
      kind: outcome === 'ok' ? 'call' : 'failed',
      startMs: start_ms,
      endMs: atMs,
      ...(outcome !== 'ok' ? { note: outcome } : record.stream && { note: 'first events' }),
    })
  }
  if (times !== null && times.decided_ms === null) return steps
  if (endMs > atMs) steps.push({ ...toLastStep(record), startMs: atMs, endMs })
  return steps
}

function toFirstSteps({ times, error, latency_ms }: TimedRecord): WaterfallStep[] {
  if (times === null) return []
  const { admitted_ms, read_ms, decided_ms } = times
  return [
    { label: 'Admit', kind: 'gateway', startMs: 0, endMs: admitted_ms, note: 'key and limits' },
    { label: 'Read the body', kind: 'wait', startMs: admitted_ms, endMs: read_ms },
    decided_ms === null
      ? {
          label: 'Decide',
          kind: 'failed',
          startMs: read_ms,
          endMs: latency_ms,
          note: error?.code ?? 'refused',
        }
      : { label: 'Decide', kind: 'gateway', startMs: read_ms, endMs: decided_ms, note: 'rules and route' },
  ]
}

function toLastStep({
  attempts,
  stream,
  cache_hit,
  error,
}: TimedRecord): Pick<WaterfallStep, 'label' | 'kind'> {
  if (cache_hit) return { label: 'Reply from the cache', kind: 'gateway' }
  const isAnswered = attempts.at(-1)?.outcome === 'ok'
  if (stream && isAnswered) return { label: 'Stream', kind: error ? 'failed' : 'stream' }
  return { label: isAnswered ? 'Inspect and send' : 'Send the error', kind: 'gateway' }
}
