import { expect } from 'chai'
import { createLatency, type Latency } from '../../../../providers/shared/latency.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme', { latency_ms: 1000 })
const target = { provider: 'acme', model: 'loco', entry: loco }

describe('the latency of a model', () => {
  let latency: Latency

  beforeEach(() => {
    latency = createLatency()
  })

  it("given nothing was seen, then it is the catalogue's figure", () => {
    expect(latency.expect(loco)).to.equal(1000)
  })

  it('given a stream, then time to first token and time per token move a fifth of the way to what was seen', () => {
    latency.sawFirst(target, 1000) // the prior is 500
    expect(latency.expect(loco)).to.be.closeTo(600 + 500, 1e-9)
    latency.sawRest(target, 200, 2000) // 10 ms a token, the prior is 5
    expect(latency.expect(loco)).to.be.closeTo(600 + 600, 1e-9)
  })

  it('given a whole answer that took as long as expected, then nothing changes, however short it was', () => {
    latency.sawWhole(target, 1, 505)
    latency.sawWhole(target, 1000, 5500)
    expect(latency.expect(loco)).to.be.closeTo(1000, 1e-9)
  })

  it('given a whole answer that took twice as long, then both figures grow by a fifth', () => {
    latency.sawWhole(target, 100, 2000)
    expect(latency.expect(loco)).to.be.closeTo(1200, 1e-9)
  })

  it('given many answers, then what was seen counts and the prior is forgotten', () => {
    for (let time = 0; time < 100; time++) {
      latency.sawFirst(target, 40)
      latency.sawRest(target, 50, 100)
    }
    expect(latency.expect(loco)).to.be.closeTo(40 + 200, 1)
  })

  it('given an answer without tokens, then it tells nothing', () => {
    latency.sawWhole(target, 0, 9000)
    latency.sawRest(target, 0, 9000)
    expect(latency.expect(loco)).to.equal(1000)
  })

  it('given a model that is not catalogued, then it is not kept', () => {
    latency.sawFirst({ provider: 'acme', model: 'loco' }, 9000)
    expect(latency.expect(loco)).to.equal(1000)
  })

  it('given the same name with another provider, then its figures are its own', () => {
    latency.sawFirst(target, 9000)
    expect(latency.expect({ ...loco, provider: 'other' })).to.equal(1000)
  })
})
