import {
  type Context,
  type HrTime,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Admission, EndedRequest, ReplyingExchange, Target } from '../../core/contract/index.ts'
import { callAttributes, replyAttributes, requestAttributes } from './attributes.ts'

type Phase = 'admit' | 'decide' | 'reply' | 'send'

interface CallSpan {
  readonly span: Span
  readonly target: Target
  /** `performance.now()`. */
  readonly startedAt: number
}

/**
 * The trace of one request. If it is recorded, it has a span for the request, with a child for each phase and
 * for each call to a provider. See docs/decisions/tracing.md, "Spans of phases are created when the request
 * has ended".
 */
export class RequestTrace {
  readonly #tracer: Tracer
  readonly #span: Span
  readonly #context: Context
  readonly #phases: { readonly phase: Phase; readonly from: number }[]
  readonly #calls: CallSpan[] = []
  /** The Unix time in milliseconds at which `performance.now()` was 0. One per trace, so that spans nest. */
  readonly #origin = Date.now() - performance.now()

  constructor(tracer: Tracer, { method, endpoint, startedAt }: Admission, parent: Context) {
    const options = { kind: SpanKind.SERVER, startTime: this.#timeOf(startedAt) }
    this.#tracer = tracer
    this.#span = tracer.startSpan(`${method} ${endpoint}`, options, parent)
    this.#context = trace.setSpan(parent, this.#span)
    this.#phases = [{ phase: 'admit', from: startedAt }]
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  enter(phase: Phase): void {
    if (this.#span.isRecording()) this.#phases.push({ phase, from: performance.now() })
  }

  /**
   * Returns the context that the provider continues. See docs/decisions/tracing.md, "The span of a call is
   * created before the call".
   */
  startCall(exchange: ReplyingExchange, target: Target): Context {
    if (!this.#span.isRecording()) return this.#context
    const startedAt = performance.now()
    const attributes = callAttributes(target, exchange)
    const span = this.#tracer.startSpan(
      `${exchange.operation ?? 'chat'} ${target.model}`,
      { kind: SpanKind.CLIENT, startTime: this.#timeOf(startedAt), attributes },
      this.#context,
    )
    this.#calls.push({ span, target, startedAt })
    return trace.setSpan(this.#context, span)
  }

  end(request: EndedRequest): void {
    if (!this.#span.isRecording()) return
    const { endedAt, status, error, exchange } = request
    for (const [index, { phase, from }] of this.#phases.entries()) {
      const options = { kind: SpanKind.INTERNAL, startTime: this.#timeOf(from) }
      const until = this.#phases[index + 1]?.from ?? endedAt
      this.#tracer.startSpan(`signalbox.${phase}`, options, this.#context).end(this.#timeOf(until))
    }
    for (const call of this.#calls) this.#endCall(call, request)
    this.#span.setAttributes(requestAttributes(request))
    // A stream that failed has begun with 200.
    const isFailed = status >= 500 || (error !== undefined && exchange?.reply !== undefined)
    if (isFailed) this.#span.setStatus({ code: SpanStatusCode.ERROR })
    this.#span.end(this.#timeOf(endedAt))
  }

  /** The attempt of a call is the one during which it was sent. */
  #endCall({ span, target, startedAt }: CallSpan, { exchange, endedAt }: EndedRequest): void {
    const attempt = exchange?.attempts.find(
      (each) =>
        each.target === target && each.startedAt <= startedAt && startedAt <= each.startedAt + each.ms,
    )
    const isAnswer = attempt?.outcome === 'ok'
    if (isAnswer && exchange !== undefined) span.setAttributes(replyAttributes(exchange))
    else {
      span.setAttribute('error.type', attempt?.outcome ?? 'cancelled')
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    const isStream = isAnswer && exchange?.reply?.type === 'stream'
    const end = attempt === undefined || isStream ? endedAt : attempt.startedAt + attempt.ms
    span.end(this.#timeOf(end))
  }

  /** Converts a time of `performance.now()`. */
  #timeOf(time: number): HrTime {
    const ms = this.#origin + time
    const seconds = Math.floor(ms / 1000)
    return [seconds, Math.floor((ms - seconds * 1000) * 1e6)]
  }
}
