import { definePlugin } from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { createCounter } from '../../core/util/metrics.ts'
import { Collector, Tracer } from './index.ts'
import { type TracingOptions, tracingOptions } from './options.ts'
import type { RequestTrace } from './request-trace.ts'
import type { ExportReport } from './trace-exporter.ts'

/** A collector that is away is logged at most this often. */
const LOG_INTERVAL_MS = 60_000

/**
 * Sends spans of requests for models and tools to an OpenTelemetry collector, and passes the caller's trace
 * on to providers and tool servers (docs/guides/tracing.md). See docs/decisions/tracing.md, "Spans come from
 * a plugin that is not listed by default".
 */
export default definePlugin({
  name: 'tracing',
  before: ['auth'],
  options: tracingOptions,
  replay: { type: 'pure' },
  uses: { process: ProcessServices },
  provides: [Collector, Tracer],
  async setup(options: TracingOptions, { use, provide, logger, metrics }) {
    provide(Collector, { endpoint: options.endpoint ?? process.env.OTEL_EXPORTER_OTLP_ENDPOINT })
    const spans = createCounter(metrics, {
      name: 'signalbox_trace_spans_total',
      help: 'Spans by whether the collector has taken them: exported or failed.',
      labelNames: ['outcome'],
    })
    let loggedAt = Number.NEGATIVE_INFINITY
    function onExported({ spans: count, error }: ExportReport): void {
      spans(error === undefined ? 'exported' : 'failed').inc(count)
      if (error === undefined || performance.now() - loggedAt < LOG_INTERVAL_MS) return
      loggedAt = performance.now()
      logger.warn({ reason: error }, 'spans could not be sent to the collector')
    }
    // Loaded only where it is used: the packages take time to load.
    const { createTraceContext } = await import('./trace-context.ts')
    const { startTrace } = await import('./open-trace.ts')
    const { RequestTrace } = await import('./request-trace.ts')
    const { TraceExporter } = await import('./trace-exporter.ts')
    const exporter = new TraceExporter({ options, version: use.process.version }, onExported)
    provide(Tracer, {
      start: (headers, fields, startedAt) =>
        startTrace(headers, fields, startedAt, options.sample_ratio, (record) => exporter.add(record)),
    })
    /** The requests that have not ended, by id. */
    const traces = new Map<string, RequestTrace>()

    return {
      admit(request) {
        if (!request.isInference) return
        const context = createTraceContext(request.headers, options.sample_ratio)
        request.traceId = context.traceId
        traces.set(request.requestId, new RequestTrace(context, request))
      },
      decide(exchange) {
        traces.get(exchange.id)?.enter('decide')
      },
      reply(exchange, next) {
        const requestTrace = traces.get(exchange.id)
        if (requestTrace === undefined) return next()
        requestTrace.enter('reply')
        exchange.headersOfCall = (target) => requestTrace.startCall(exchange, target)
        return next()
      },
      inspect(exchange) {
        traces.get(exchange.id)?.enter('send')
        return undefined
      },
      observe(request) {
        const record = traces.get(request.id)?.end(request)
        traces.delete(request.id)
        if (record !== undefined) exporter.add(record)
      },
      close: () => exporter.stop(),
    }
  },
})
