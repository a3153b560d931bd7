import { expect } from 'chai'
import { createLatencyTracker, type LatencyTracker } from '../../../../providers/shared/latency.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme', { latency_ms: 1000 })
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('the latency of a model', () => {
  let latency: LatencyTracker

  beforeEach(() => {
    latency = createLatencyTracker()
  })

  it("given nothing was seen, then it is the catalogue's figure", () => {
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('given a stream, then time to first token and time per token move a fifth of the way to what was seen', () => {
    latency.recordFirstEvent(target, 1000) // the prior is 500
    expect(latency.estimateMs(loco)).to.be.closeTo(600 + 500, 1e-9)
    latency.recordRemainder(target, 200, 2000) // 10 ms a token, the prior is 5
    expect(latency.estimateMs(loco)).to.be.closeTo(600 + 600, 1e-9)
  })

  it('given a whole answer that took as long as expected, then nothing changes, however short it was', () => {
    latency.recordWholeReply(target, 1, 505)
    latency.recordWholeReply(target, 1000, 5500)
    expect(latency.estimateMs(loco)).to.be.closeTo(1000, 1e-9)
  })

  it('given a whole answer that took twice as long, then both figures grow by a fifth', () => {
    latency.recordWholeReply(target, 100, 2000)
    expect(latency.estimateMs(loco)).to.be.closeTo(1200, 1e-9)
  })

  it('given many answers, then what was seen counts and the prior is forgotten', () => {
    for (let time = 0; time < 100; time++) {
      latency.recordFirstEvent(target, 40)
      latency.recordRemainder(target, 50, 100)
    }
    expect(latency.estimateMs(loco)).to.be.closeTo(40 + 200, 1)
  })

  it('given an answer without tokens, then it tells nothing', () => {
    latency.recordWholeReply(target, 0, 9000)
    latency.recordRemainder(target, 0, 9000)
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('given a model that is not catalogued, then it is not kept', () => {
    latency.recordFirstEvent({ provider: 'acme', model: 'loco' }, 9000)
    expect(latency.estimateMs(loco)).to.equal(1000)
  })

  it('given the same name with another provider, then its figures are its own', () => {
    latency.recordFirstEvent(target, 9000)
    expect(latency.estimateMs({ ...loco, provider: 'other' })).to.equal(1000)
  })
})
