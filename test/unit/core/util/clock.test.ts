import { expect } from 'chai'
import { createClock } from '../../../../core/util/clock.ts'

const START = Date.parse('2026-03-01T10:00:00Z')

describe('createClock', () => {
  let now = START
  const clock = () => createClock(() => now)

  beforeEach(() => {
    now = START
  })

  it('never returns a time twice within a millisecond', () => {
    const time = clock()
    expect([time(), time()]).to.deep.equal(['2026-03-01T10:00:00.000000Z', '2026-03-01T10:00:00.000001Z'])
  })

  it('goes on counting if the system clock is set back by up to a second', () => {
    const time = clock()
    time()
    now -= 999
    expect(time()).to.equal('2026-03-01T10:00:00.000001Z')
  })

  it('follows the system clock if it is set back further', () => {
    const time = clock()
    time()
    now -= 86_400_000
    expect([time(), time()]).to.deep.equal(['2026-02-28T10:00:00.000000Z', '2026-02-28T10:00:00.000001Z'])
  })

  it('is never ahead of the system clock by more than a second', () => {
    const time = clock()
    let ahead = 0
    for (let call = 0; call < 5000; call++) {
      if (call % 2 === 0) now -= 1
      ahead = Math.max(ahead, Date.parse(time()) - now)
    }
    expect(ahead).to.be.within(990, 1000)
  })
})
