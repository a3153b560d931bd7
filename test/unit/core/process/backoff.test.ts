import { expect } from 'chai'
import { Backoff } from '../../../../core/process/backoff.ts'

describe('a backoff', () => {
  it('starts without a delay, doubles it with each failure up to the maximum, and can be reset', () => {
    const backoff = new Backoff(250, 1500)
    const delays = [backoff.delayMs]
    for (let n = 0; n < 5; n++) {
      backoff.increase()
      delays.push(backoff.delayMs)
    }
    expect(delays).to.deep.equal([0, 250, 500, 1000, 1500, 1500])
    backoff.reset()
    expect(backoff.delayMs).to.equal(0)
  })
})
