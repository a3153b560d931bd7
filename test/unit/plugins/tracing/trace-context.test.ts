import { ROOT_CONTEXT } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'
import { expect } from 'chai'
import { createTraceContext, isInRatio, toTraceHeaders } from '../../../../plugins/tracing/trace-context.ts'

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER_SPAN = '00f067aa0ba902b7'

describe('trace context', () => {
  it('samples new traces as OpenTelemetry does, in the ratio asked for', () => {
    const ids = Array.from({ length: 2000 }, () => createTraceContext({}, 0).traceId)
    for (const ratio of [0, 0.1, 0.5, 1]) {
      const sampler = new TraceIdRatioBasedSampler(ratio)
      const isSampled = (id: string) =>
        sampler.shouldSample(ROOT_CONTEXT, id).decision === SamplingDecision.RECORD_AND_SAMPLED
      expect(ids.filter((id) => isInRatio(id, ratio))).to.deep.equal(ids.filter(isSampled))
      expect(ids.filter(isSampled).length / ids.length).to.be.closeTo(ratio, 0.05)
    }
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).to.equal(true)
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('follows the caller, whatever the ratio is', () => {
    for (const flags of ['00', '01']) {
      const headers = { traceparent: `00-${TRACE_ID}-${CALLER_SPAN}-${flags}`, tracestate: 'a=1, ,b=2' }
      const context = createTraceContext(headers, flags === '00' ? 1 : 0)
      expect(context).to.include({ traceId: TRACE_ID, parentId: CALLER_SPAN, isSampled: flags === '01' })
      expect(toTraceHeaders(context, context.spanId)).to.deep.equal({
        traceparent: `00-${TRACE_ID}-${context.spanId}-${flags}`,
        tracestate: 'a=1,b=2',
      })
    }
  })

  it('starts a trace if the header is not valid', () => {
    for (const traceparent of [
      '',
      'no',
      `00-${TRACE_ID}-0000000000000000-01`,
      `00-${'0'.repeat(32)}-${CALLER_SPAN}-01`,
      `ff-${TRACE_ID}-${CALLER_SPAN}-01`,
      `00-${TRACE_ID.toUpperCase()}-${CALLER_SPAN}-01`,
      `00-${TRACE_ID}-${CALLER_SPAN}-01-more`,
      `00-${TRACE_ID}-${CALLER_SPAN}-01, 00-${TRACE_ID}-${CALLER_SPAN}-01`,
      `00-${TRACE_ID}-${CALLER_SPAN}-01${'-x'.repeat(5000)}`,
    ]) {
      const context = createTraceContext({ traceparent, tracestate: 'a=1' }, 0)
      expect(context.traceId).not.to.equal(TRACE_ID)
      expect(toTraceHeaders(context, context.spanId)).to.have.all.keys('traceparent')
    }
  })
  it('leaves out members of tracestate that are not valid, and keeps at most 32 members', () => {
    const withState = (tracestate: string) => {
      const traceparent = `00-${TRACE_ID}-${CALLER_SPAN}-01`
      const context = createTraceContext({ traceparent, tracestate }, 0)
      return toTraceHeaders(context, context.spanId).tracestate
    }
    expect(withState(`a=${'x'.repeat(600)}`)).to.equal(undefined)
    const many = Array.from({ length: 60 }, (_, n) => `k${n}=1`).join()
    expect(withState(many)?.split(',')).to.have.length(32)
    expect(withState('no value, UPPER=1,ok=1,bad=\u00e4')).to.equal('ok=1')
  })
})
