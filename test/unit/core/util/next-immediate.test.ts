import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { nextImmediate } from '../../../../core/util/next-immediate.ts'

describe('the end of a turn', () => {
  it('comes after all that is still to do in this turn, for everybody who waits for it at once and in their order', async () => {
    const seen: string[] = []
    const first = nextImmediate().then(() => seen.push('first answer'))
    await Promise.resolve()
    process.nextTick(() => seen.push('read'))
    const second = nextImmediate().then(() => seen.push('second answer'))
    const later = setImmediate().then(() => seen.push('next turn'))
    await Promise.all([first, second, later])
    expect(seen).to.deep.equal(['read', 'first answer', 'second answer', 'next turn'])
  })

  it('comes again in the next turn', async () => {
    await nextImmediate()
    let isOver = false
    const next = nextImmediate().then(() => {
      isOver = true
    })
    await Promise.resolve()
    expect(isOver).to.equal(false)
    await next
  })
})
