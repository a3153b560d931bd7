import { expect } from 'chai'
import { KeepAlives } from '../../../../core/http/send-response.ts'
import { type StoppedTimers, stopTimers } from '../../../support/timers.ts'

/** A length that no other timer has. */
const TICK_MS = 4001

describe('keep-alives', () => {
  let timers: StoppedTimers
  let keepAlives: KeepAlives
  let silences: string[]
  beforeEach(() => {
    timers = stopTimers(TICK_MS)
    keepAlives = new KeepAlives(5 * TICK_MS)
    silences = []
  })
  afterEach(() => timers.restore())

  function pass(ticks: number): void {
    for (let tick = 0; tick < ticks; tick++) timers.pass(TICK_MS)
  }

  it('notice a silence again and again', () => {
    keepAlives.watch(() => silences.push('a'))
    pass(4)
    expect(silences).to.deep.equal([])
    pass(1)
    expect(silences).to.deep.equal(['a'])
    pass(5)
    expect(silences).to.deep.equal(['a', 'a'])
  })

  it('count from the last activity, and the silence before they were asked', () => {
    const active = keepAlives.watch(() => silences.push('active'))
    keepAlives.watch(() => silences.push('waited'), 3 * TICK_MS)
    pass(2)
    active.noteActivity()
    pass(4)
    expect(silences).to.deep.equal(['waited'])
    pass(1)
    expect(silences).to.include('active')
  })

  it('are not sent to a stream that has ended, and start again with the next one', () => {
    keepAlives.watch(() => silences.push('ended')).end()
    pass(2)
    keepAlives.watch(() => silences.push('next'))
    pass(5)
    expect(silences).to.deep.equal(['next'])
  })
})
