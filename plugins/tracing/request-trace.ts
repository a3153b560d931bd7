import type { Attributes } from '@opentelemetry/api'
import type { Admission, EndedRequest, ReplyingExchange, Target } from '../../core/contract/index.ts'
import { callAttributes, replyAttributes, requestAttributes } from './attributes.ts'
import { newSpanId, type TraceContext, toTraceHeaders } from './trace-context.ts'

type Phase = 'admit' | 'decide' | 'reply' | 'send'

/** What is exported of one request, as plain data. Times are Unix times in milliseconds. */
export interface TraceRecord {
  readonly context: TraceContext
  readonly name: string
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly isError: boolean
  /** Each phase lasts until the next one. */
  readonly phases: readonly PhaseRecord[]
  readonly calls: readonly CallRecord[]
  /** The span of the HTTP request, if its message is part of another trace. */
  readonly link?: { readonly traceId: string; readonly spanId: string }
}

interface PhaseRecord {
  readonly phase: Phase
  readonly startedAt: number
}

/** One call to a provider. */
export interface CallRecord {
  readonly spanId: string
  readonly name: string
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly isError: boolean
}

interface OpenCall {
  readonly spanId: string
  readonly target: Target
  readonly name: string
  readonly attributes: Attributes
  /** `performance.now()`. */
  readonly startedAt: number
}

/** The trace of one request. See docs/decisions/tracing.md, "Spans are built in a thread of their own". */
export class RequestTrace {
  readonly context: TraceContext
  readonly #phases: { readonly phase: Phase; readonly from: number }[] = []
  readonly #calls: OpenCall[] = []

  constructor(context: TraceContext, { startedAt }: Admission) {
    this.context = context
    this.enter('admit', startedAt)
  }

  enter(phase: Phase, from = performance.now()): void {
    if (this.context.isSampled) this.#phases.push({ phase, from })
  }

  /** Returns the headers with which the provider continues the trace. */
  startCall(exchange: ReplyingExchange, target: Target): Record<string, string> {
    if (!this.context.isSampled) return toTraceHeaders(this.context, this.context.spanId)
    const spanId = newSpanId()
    const name = `${exchange.operation ?? 'chat'} ${target.model}`
    const attributes = callAttributes(target, exchange)
    this.#calls.push({ spanId, target, name, attributes, startedAt: performance.now() })
    return toTraceHeaders(this.context, spanId)
  }

  /** Returns what is to be exported; undefined if the trace is not sampled. */
  end(request: EndedRequest): TraceRecord | undefined {
    if (!this.context.isSampled) return undefined
    const { method, endpoint, startedAt, endedAt, status, error, exchange } = request
    /** The Unix time at which `performance.now()` was 0. One per trace, so that spans nest. */
    const origin = Date.now() - performance.now()
    return {
      context: this.context,
      name: `${method} ${endpoint}`,
      startedAt: origin + startedAt,
      endedAt: origin + endedAt,
      attributes: requestAttributes(request),
      // A stream that failed has begun with 200.
      isError: status >= 500 || (error !== undefined && exchange?.reply !== undefined),
      phases: this.#phases.map(({ phase, from }) => ({ phase, startedAt: origin + from })),
      calls: this.#calls.map((call) => endCall(call, request, origin)),
    }
  }
}

/** The attempt of a call is the one during which it was sent. */
function endCall(call: OpenCall, { exchange, endedAt }: EndedRequest, origin: number): CallRecord {
  const { spanId, target, name, startedAt } = call
  const attempt = exchange?.attempts.find(
    (each) => each.target === target && each.startedAt <= startedAt && startedAt <= each.startedAt + each.ms,
  )
  const isAnswer = attempt?.outcome === 'ok'
  const isStream = isAnswer && exchange?.reply?.type === 'stream'
  const end = attempt === undefined || isStream ? endedAt : attempt.startedAt + attempt.ms
  const more =
    isAnswer && exchange !== undefined
      ? replyAttributes(exchange)
      : { 'error.type': attempt?.outcome ?? 'cancelled' }
  return {
    spanId,
    name,
    startedAt: origin + startedAt,
    endedAt: origin + end,
    attributes: { ...call.attributes, ...more },
    isError: !isAnswer,
  }
}
