import type { TextMapPropagator, Tracer } from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TracingOptions } from './options.ts'

export interface TracerServices {
  readonly version: string
  /** Called after each batch. `error` is undefined if the collector has taken it. */
  onExported(spanCount: number, error: Error | undefined): void
}

export interface StartedTracer {
  readonly tracer: Tracer
  readonly propagator: TextMapPropagator
  /** Sends what waits. */
  stop(): Promise<void>
}

/**
 * Starts OpenTelemetry's tracer with an exporter over OTLP/HTTP. The SDK reads its usual variables, such as
 * `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export function startTracer(options: TracingOptions, { version, onExported }: TracerServices): StartedTracer {
  const { endpoint, sample_ratio: ratio, service_name: name } = options
  const url = endpoint && `${endpoint.replace(/\/+$/, '')}/v1/traces`
  const serviceName = name ?? process.env.OTEL_SERVICE_NAME ?? 'signalbox'
  const attributes = { 'service.name': serviceName, 'service.version': version }
  const exporter = reportExports(new OTLPTraceExporter(url ? { url } : {}), onExported)
  const provider = new TracerProvider({
    resource: defaultResource().merge(resourceFromAttributes(attributes)),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: options.export_interval_ms })],
  })
  return {
    tracer: provider.getTracer('signalbox', version),
    propagator: new W3CTraceContextPropagator(),
    stop: () => provider.shutdown(),
  }
}

function reportExports(exporter: SpanExporter, onExported: TracerServices['onExported']): SpanExporter {
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        const isTaken = result.code === ExportResultCode.SUCCESS
        onExported(spans.length, isTaken ? undefined : (result.error ?? new Error('The export failed.')))
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
