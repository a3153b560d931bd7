import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { errorMessage } from '../../../core/util/error-message.ts'
import { createCounter } from '../../../core/util/metrics.ts'

export const SIGNALS = ['metrics', 'logs', 'traces'] as const

export type Signal = (typeof SIGNALS)[number]

/** The largest export that is taken. Claude Code sends a few kilobytes at a time. */
export const MAX_EXPORT_BYTES = 4 * 1024 * 1024

/** Further exports are dropped, so that a collector that is away costs no more memory than this. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024

const TIMEOUT_MS = 10_000
const LOG_INTERVAL_MS = 60_000

/** Passes telemetry of programs on to a collector, without a look at it. */
export interface TelemetryForwarder {
  forward(signal: Signal, body: Buffer, type: string): void
}

interface ForwarderOptions {
  /** Base URL of the collector; undefined: everything is dropped. */
  readonly endpoint: string | undefined
  /** Of the collector, such as its key. */
  readonly headers: Readonly<Record<string, string>>
  readonly metrics: Registry
  readonly logger: Logger
  readonly signal: AbortSignal
}

export function createTelemetryForwarder(options: ForwarderOptions): TelemetryForwarder {
  const { endpoint, headers, metrics, logger, signal: stopping } = options
  const exports = createCounter(metrics, {
    name: 'signalbox_claude_code_exports_total',
    help: 'Exports of telemetry by Claude Code, by signal and outcome: forwarded, dropped or failed.',
    labelNames: ['signal', 'outcome'],
  })
  let waiting = 0
  let loggedAt = Number.NEGATIVE_INFINITY

  async function send(url: string, body: Buffer, type: string): Promise<void> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body: new Uint8Array(body),
      redirect: 'error',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`the collector answered with status ${response.status}`)
  }

  return {
    forward(signal, body, type) {
      if (endpoint === undefined || waiting + body.length > MAX_WAITING_BYTES)
        return exports(signal, 'dropped').inc()
      waiting += body.length
      send(`${endpoint.replace(/\/+$/, '')}/v1/${signal}`, body, type)
        .then(
          () => exports(signal, 'forwarded').inc(),
          (error: unknown) => {
            exports(signal, 'failed').inc()
            if (stopping.aborted || performance.now() - loggedAt < LOG_INTERVAL_MS) return
            loggedAt = performance.now()
            logger.warn({ reason: errorMessage(error) }, 'telemetry could not be sent to the collector')
          },
        )
        .finally(() => {
          waiting -= body.length
        })
    },
  }
}

/** Parses `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,name=value`, percent-encoded. */
export function parseOtlpHeaders(text: string | undefined): Readonly<Record<string, string>> {
  const pairs = (text ?? '').split(',').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())]]
  })
  return Object.fromEntries(pairs)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
