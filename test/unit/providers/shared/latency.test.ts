import { expect } from 'chai'
import { createLatencyTracker, type LatencyTracker } from '../../../../providers/shared/latency.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme', { latency_ms: 1000 })
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('the latency estimate of a model', () => {
  let latency: LatencyTracker

  beforeEach(() => {
    latency = createLatencyTracker()
  })

  it("is the catalogue's figure before any measurement", () => {
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('moves both averages by a fifth of the difference for a stream', () => {
    latency.recordFirstEvent(target, 1000) // initially 500
    expect(latency.estimateMs(loco)).to.be.closeTo(600 + 500, 1e-9)
    latency.recordRemainder(target, 200, 2000) // 10 ms per token, initially 5
    expect(latency.estimateMs(loco)).to.be.closeTo(600 + 600, 1e-9)
  })

  it('does not change for a whole reply that took as long as estimated', () => {
    latency.recordWholeReply(target, 1, 505)
    latency.recordWholeReply(target, 1000, 5500)
    expect(latency.estimateMs(loco)).to.be.closeTo(1000, 1e-9)
  })

  it('grows by a fifth for a whole reply that took twice as long', () => {
    latency.recordWholeReply(target, 100, 2000)
    expect(latency.estimateMs(loco)).to.be.closeTo(1200, 1e-9)
  })

  it('approaches the measured figures after many replies', () => {
    for (let time = 0; time < 100; time++) {
      latency.recordFirstEvent(target, 40)
      latency.recordRemainder(target, 50, 100)
    }
    expect(latency.estimateMs(loco)).to.be.closeTo(40 + 200, 1)
  })

  it('ignores replies without tokens', () => {
    latency.recordWholeReply(target, 0, 9000)
    latency.recordRemainder(target, 0, 9000)
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('ignores models that are not in the catalogue', () => {
    latency.recordFirstEvent({ provider: 'acme', model: 'loco' }, 9000)
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('is separate for models of the same name at different providers', () => {
    latency.recordFirstEvent(target, 9000)
    expect(latency.estimateMs({ ...loco, provider: 'other' })).to.equal(1000)
  })
})
