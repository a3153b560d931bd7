import { randomFillSync } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { parseTraceParent, TraceState } from '@opentelemetry/core'

/** The place of a request in a trace. */
export interface TraceContext {
  readonly traceId: string
  /** The span of this request. */
  readonly spanId: string
  /** The caller's span, if the caller named one. */
  readonly parentId: string | undefined
  readonly isSampled: boolean
  /** The caller's `tracestate`. */
  readonly state: string | undefined
}

/**
 * Continues the caller's trace, or starts one and samples it. See docs/decisions/tracing.md, "Sampling is
 * decided before a span exists".
 */
export function createTraceContext(headers: IncomingHttpHeaders, ratio: number): TraceContext {
  const { traceparent, tracestate } = headers
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  if (parent === null) {
    const traceId = newTraceId()
    const isSampled = isInRatio(traceId, ratio)
    return { traceId, spanId: newSpanId(), parentId: undefined, isSampled, state: undefined }
  }
  return {
    traceId: parent.traceId,
    spanId: newSpanId(),
    parentId: parent.spanId,
    isSampled: (parent.traceFlags & 1) === 1,
    state: toTraceState(tracestate),
  }
}

/** Returns the caller's span; undefined if the headers name none. */
export function readCaller({
  traceparent,
}: IncomingHttpHeaders): { readonly traceId: string; readonly spanId: string } | undefined {
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  return parent === null ? undefined : { traceId: parent.traceId, spanId: parent.spanId }
}

/** Returns the headers for a server that continues the trace below a span. */
export function toTraceHeaders(context: TraceContext, spanId: string): Record<string, string> {
  const { traceId, isSampled, state } = context
  const traceparent = `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`
  return state === undefined ? { traceparent } : { traceparent, tracestate: state }
}

/** Whether a new trace is sampled: the rule of OpenTelemetry's `TraceIdRatioBasedSampler`. */
export function isInRatio(traceId: string, ratio: number): boolean {
  if (ratio <= 0 || ratio >= 1) return ratio >= 1
  let parts = 0
  for (let at = 0; at < 32; at += 8) parts ^= Number.parseInt(traceId.slice(at, at + 8), 16)
  return parts >>> 0 < Math.floor(ratio * 0xffffffff)
}

/** Random bytes are drawn for many ids at once, because each draw costs as much as the rest of a trace. */
const randomBytes = Buffer.alloc(4096)
let usedBytes = randomBytes.length

function randomHex(length: number): string {
  if (usedBytes + length > randomBytes.length) {
    randomFillSync(randomBytes)
    usedBytes = 0
  }
  usedBytes += length
  const hex = randomBytes.toString('hex', usedBytes - length, usedBytes)
  return /[1-9a-f]/.test(hex) ? hex : randomHex(length) // zeros are not a valid id
}

export function newSpanId(): string {
  return randomHex(8)
}

function newTraceId(): string {
  return randomHex(16)
}

/** Several headers are one list. Members that are not valid are left out. */
function toTraceState(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined
  return new TraceState(String(header)).serialize() || undefined
}
