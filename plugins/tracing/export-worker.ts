import { workerData } from 'node:worker_threads'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import { serveThread } from '../../core/threads/thread.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { toSpans } from './to-spans.ts'
import type { ExportWorkerData, ExportWorkerMethods, TraceExporterMethods } from './trace-exporter.ts'

/**
 * Thread that sends spans over OTLP/HTTP. The exporter reads OpenTelemetry's usual variables, such as
 * `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`.
 */

const { options, version } = workerData as ExportWorkerData
const { endpoint, service_name: name, export_interval_ms: interval } = options
const url = endpoint && `${endpoint.replace(/\/+$/, '')}/v1/traces`
const serviceName = name ?? process.env.OTEL_SERVICE_NAME ?? 'signalbox'
const attributes = { 'service.name': serviceName, 'service.version': version }
const source = {
  resource: defaultResource().merge(resourceFromAttributes(attributes)),
  scope: { name: 'signalbox', version },
}
/** The processor drops what exceeds this without a word, so the spans that it holds are counted here. */
const maxQueueSize = Number(process.env.OTEL_BSP_MAX_QUEUE_SIZE) || 2048
let queued = 0
const processor = new BatchSpanProcessor({
  maxQueueSize,
  exporter: reportExports(new OTLPTraceExporter(url ? { url } : {})),
  scheduledDelayMillis: interval,
})

const peer = serveThread<TraceExporterMethods, ExportWorkerMethods>({
  export({ records }) {
    const spans = records.flatMap((each) => toSpans(JSON.parse(each), source))
    const taken = spans.slice(0, Math.max(0, maxQueueSize - queued))
    queued += taken.length
    for (const span of taken) processor.onEnd(span)
    const dropped = spans.length - taken.length
    if (dropped > 0) peer.notify('exported', { spans: dropped, error: 'too many spans wait to be sent' })
    return {}
  },
  async stop() {
    await processor.shutdown().catch(() => undefined) // reported with its batch
    return {}
  },
})

function reportExports(exporter: SpanExporter): SpanExporter {
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      queued -= spans.length
      exporter.export(spans, (result) => {
        const isTaken = result.code === ExportResultCode.SUCCESS
        const error = isTaken ? {} : { error: errorMessage(result.error ?? 'the export failed') }
        peer.notify('exported', { spans: spans.length, ...error })
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
