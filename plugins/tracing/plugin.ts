import type { IncomingHttpHeaders } from 'node:http'
import { defaultTextMapSetter, ROOT_CONTEXT, type TextMapGetter } from '@opentelemetry/api'
import { definePlugin, type Plugin } from '../../core/contract/index.ts'
import { createCounter } from '../../core/util/metrics.ts'
import { type TracingOptions, tracingOptions } from './options.ts'
import { RequestTrace } from './request-trace.ts'

/** A collector that is away is logged at most this often. */
const LOG_INTERVAL_MS = 60_000

/**
 * Sends spans of inference requests to an OpenTelemetry collector, and passes the caller's trace on to
 * providers (docs/tracing.md). See docs/decisions/tracing.md, "Spans come from a plugin that is not listed by
 * default".
 */
export function createTracing(readVersion: () => string): Plugin {
  return definePlugin({
    name: 'tracing',
    before: ['auth'],
    options: tracingOptions,
    async setup(options: TracingOptions, { logger, metrics }) {
      const spans = createCounter(metrics, {
        name: 'signalbox_trace_spans_total',
        help: 'Spans by whether the collector has taken them: exported or failed.',
        labelNames: ['outcome'],
      })
      let loggedAt = Number.NEGATIVE_INFINITY
      function onExported(count: number, error: Error | undefined): void {
        spans(error === undefined ? 'exported' : 'failed').inc(count)
        if (error === undefined || performance.now() - loggedAt < LOG_INTERVAL_MS) return
        loggedAt = performance.now()
        logger.warn({ reason: error.message }, 'spans could not be sent to the collector')
      }
      // Loaded only where it is used: the packages take as long to load as a tenth of the gateway.
      const { startTracer } = await import('./start-tracer.ts')
      const { tracer, propagator, stop } = startTracer(options, { version: readVersion(), onExported })
      /** The requests that have not ended, by id. */
      const traces = new Map<string, RequestTrace>()

      return {
        admit(request) {
          if (!request.isInference) return
          const parent = propagator.extract(ROOT_CONTEXT, request.headers, HEADERS)
          const requestTrace = new RequestTrace(tracer, request, parent)
          request.traceId = requestTrace.traceId
          traces.set(request.requestId, requestTrace)
        },
        decide(exchange) {
          traces.get(exchange.id)?.enter('decide')
        },
        reply(exchange, next) {
          const requestTrace = traces.get(exchange.id)
          if (requestTrace === undefined) return next()
          requestTrace.enter('reply')
          exchange.headersOfCall = (target) => {
            const headers: Record<string, string> = {}
            propagator.inject(requestTrace.startCall(exchange, target), headers, defaultTextMapSetter)
            return headers
          }
          return next()
        },
        inspect(exchange) {
          traces.get(exchange.id)?.enter('send')
          return undefined
        },
        observe(request) {
          traces.get(request.id)?.end(request)
          traces.delete(request.id)
        },
        close: stop,
      }
    },
  })
}

const HEADERS: TextMapGetter<IncomingHttpHeaders> = {
  get: (headers, name) => headers[name],
  keys: (headers) => Object.keys(headers),
}
