import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { nextImmediate } from '../../../../core/util/next-immediate.ts'

describe('nextImmediate', () => {
  it('resolves after the rest of the event loop iteration, in the order of the calls', async () => {
    const seen: string[] = []
    const first = nextImmediate().then(() => seen.push('first answer'))
    await Promise.resolve()
    process.nextTick(() => seen.push('read'))
    const second = nextImmediate().then(() => seen.push('second answer'))
    const later = setImmediate().then(() => seen.push('next turn'))
    await Promise.all([first, second, later])
    expect(seen).to.deep.equal(['read', 'first answer', 'second answer', 'next turn'])
  })

  it('resolves again in the next iteration', async () => {
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
