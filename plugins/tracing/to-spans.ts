import {
  type Attributes,
  type HrTime,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api'
import { type InstrumentationScope, TraceState } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { TraceRecord } from './request-trace.ts'
import { newSpanId } from './trace-context.ts'

/** Who sends the spans. */
export interface SpanSource {
  readonly resource: Resource
  readonly scope: InstrumentationScope
}

interface SpanFields {
  readonly name: string
  readonly kind: SpanKind
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes?: Attributes
  readonly isError?: boolean
  readonly link?: TraceRecord['link']
}

/** Returns the spans of a request: one for itself, with a child for each phase and each call. */
export function toSpans(record: TraceRecord, { resource, scope }: SpanSource): readonly ReadableSpan[] {
  const { context, phases, calls, endedAt } = record
  const { traceId, spanId, parentId } = context
  const common = {
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
  const trace = {
    traceId,
    traceFlags: TraceFlags.SAMPLED,
    ...(context.state !== undefined && { traceState: new TraceState(context.state) }),
  }
  function toSpan(id: string, parent: SpanContext | undefined, fields: SpanFields): ReadableSpan {
    const { name, kind, startedAt, attributes = {}, isError = false, link } = fields
    const ownContext = { ...trace, spanId: id }
    return {
      ...common,
      links: link === undefined ? [] : [{ context: { ...link, traceFlags: TraceFlags.SAMPLED } }],
      name,
      kind,
      attributes,
      spanContext: () => ownContext,
      ...(parent && { parentSpanContext: parent }),
      startTime: toHrTime(startedAt),
      endTime: toHrTime(fields.endedAt),
      duration: toHrTime(fields.endedAt - startedAt),
      status: { code: isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    }
  }
  const caller = parentId === undefined ? undefined : { ...trace, spanId: parentId, isRemote: true }
  const own = { ...trace, spanId }
  return [
    toSpan(spanId, caller, { ...record, kind: SpanKind.SERVER }),
    ...phases.map(({ phase, startedAt }, index) =>
      toSpan(newSpanId(), own, {
        name: `signalbox.${phase}`,
        kind: SpanKind.INTERNAL,
        startedAt,
        endedAt: phases[index + 1]?.startedAt ?? endedAt,
      }),
    ),
    ...calls.map((call) => toSpan(call.spanId, own, { ...call, kind: SpanKind.CLIENT })),
  ]
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
}
