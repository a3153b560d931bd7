import type { IncomingHttpHeaders } from 'node:http'
import { type JsonObject, service } from '../../core/contract/index.ts'

/** The OpenTelemetry collector that spans are sent to. */
export interface Collector {
  /** Its base URL. */
  readonly endpoint: string | undefined
}

export const Collector = service<Collector>('tracing.collector')

/** Attributes of a span. Undefined values are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Makes the spans of requests other than inference requests. */
export interface Tracer {
  /**
   * Continues the trace of the caller, or starts one. `fields`: where the message itself may have a
   * `traceparent`, which precedes that of the headers. `startedAt` is of `performance.now()`.
   */
  start(headers: IncomingHttpHeaders, fields: JsonObject, startedAt: number): OpenTrace
}

/** The trace of a request that has not ended. */
export interface OpenTrace {
  /** Whether spans are sent. The trace is passed on in any case. */
  readonly isSampled: boolean
  startCall(name: string, attributes: SpanAttributes): OpenCall
  /** Ends the span of the request, and those of calls that have not ended. */
  end(name: string, attributes: SpanAttributes, isError: boolean): void
}

/** A call to a server that has not ended. */
export interface OpenCall {
  /** `traceparent` and `tracestate` for the server. */
  readonly fields: Readonly<Record<string, string>>
  end(attributes: SpanAttributes, isError: boolean): void
}

export const Tracer = service<Tracer>('tracing.tracer')
