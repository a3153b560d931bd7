import { parentPort, workerData } from 'node:worker_threads'
import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace'
import { createRpcPeer } from '../../core/process/rpc.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { toSpans } from './to-spans.ts'
import type { ExportWorkerData, ExportWorkerMethods, TraceExporterMethods } from './trace-exporter.ts'

/**
 * Thread that sends spans over OTLP/HTTP. The exporter reads OpenTelemetry's usual variables, such as
 * `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`.
 */

const REPORT_TIMEOUT_MS = 5000

const { options, version } = workerData as ExportWorkerData
const { endpoint, service_name: name, export_interval_ms: interval } = options
const url = endpoint && `${endpoint.replace(/\/+$/, '')}/v1/traces`
const serviceName = name ?? process.env.OTEL_SERVICE_NAME ?? 'signalbox'
const attributes = { 'service.name': serviceName, 'service.version': version }
const source = {
  resource: defaultResource().merge(resourceFromAttributes(attributes)),
  scope: { name: 'signalbox', version },
}
const processor = new BatchSpanProcessor({
  exporter: reportExports(new OTLPTraceExporter(url ? { url } : {})),
  scheduledDelayMillis: interval,
})

const transport = {
  send: (message: unknown) => parentPort?.postMessage(message),
  listen: (receive: (message: unknown) => void) => void parentPort?.on('message', receive),
}

const peer = createRpcPeer<TraceExporterMethods, ExportWorkerMethods>(transport, {
  export({ records }) {
    for (const record of records.flatMap((each) => toSpans(JSON.parse(each), source))) processor.onEnd(record)
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
      exporter.export(spans, (result) => {
        const isTaken = result.code === ExportResultCode.SUCCESS
        const error = isTaken ? {} : { error: errorMessage(result.error ?? 'the export failed') }
        const report = peer.request('exported', { spans: spans.length, ...error }, REPORT_TIMEOUT_MS)
        // Whoever stops the thread waits for `done`, and so for the report.
        void report.catch(() => undefined).then(() => done(result))
      })
    },
    shutdown: () => exporter.shutdown(),
  }
}
