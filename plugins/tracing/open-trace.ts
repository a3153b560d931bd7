import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from '../../core/contract/index.ts'
import type { OpenCall, OpenTrace, SpanAttributes } from './index.ts'
import type { CallRecord, TraceRecord } from './request-trace.ts'
import { createTraceContext, newSpanId, readCaller, toTraceHeaders } from './trace-context.ts'

/** Starts a trace for a plugin: see `Tracer`. */
export function startTrace(
  headers: IncomingHttpHeaders,
  { traceparent, tracestate }: JsonObject,
  startedAt: number,
  ratio: number,
  onEnd: (record: TraceRecord) => void,
): OpenTrace {
  const fields = {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  }
  const hasFields = readCaller(fields) !== undefined
  const context = createTraceContext(hasFields ? fields : headers, ratio)
  const { isSampled, spanId } = context
  if (!isSampled) {
    const call: OpenCall = { fields: toTraceHeaders(context, spanId), end: () => undefined }
    return { isSampled, startCall: () => call, end: () => undefined }
  }
  // The conventions link the span of the HTTP request where the message has a parent of its own.
  const link = hasFields ? readCaller(headers) : undefined
  const calls: TimedCall[] = []

  function startCall(name: string, attributes: SpanAttributes): OpenCall {
    const call: TimedCall = {
      ...{ spanId: newSpanId(), name, startedAt: performance.now(), endedAt: undefined, attributes },
      isError: false,
    }
    calls.push(call)
    return {
      fields: toTraceHeaders(context, call.spanId),
      end(more, isError) {
        if (call.endedAt !== undefined) return
        call.endedAt = performance.now()
        call.attributes = { ...call.attributes, ...more }
        call.isError = isError
      },
    }
  }

  return {
    isSampled,
    startCall,
    end(name, attributes, isError) {
      const now = performance.now()
      const origin = Date.now() - now
      onEnd({
        ...{ context, name, startedAt: origin + startedAt, endedAt: origin + now },
        ...{ attributes: toAttributes(attributes), isError, phases: [] },
        ...(link !== undefined && { link }),
        calls: calls.map((call) => ({
          ...call,
          attributes: toAttributes(call.attributes),
          startedAt: origin + call.startedAt,
          endedAt: origin + (call.endedAt ?? now),
        })),
      })
    },
  }
}

interface TimedCall {
  readonly spanId: string
  readonly name: string
  /** `performance.now()`, like `endedAt`. */
  readonly startedAt: number
  endedAt: number | undefined
  attributes: SpanAttributes
  isError: boolean
}

function toAttributes(attributes: SpanAttributes): CallRecord['attributes'] {
  // Copied, because lists of attributes may be changed by OpenTelemetry's types.
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === 'object' ? [...value] : value]),
  )
}
