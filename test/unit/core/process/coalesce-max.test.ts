import { expect } from 'chai'
import { coalesceMax } from '../../../../core/process/coalesce-max.ts'

describe('numbers in waves', () => {
  let sent: number[]
  let settle: (error?: Error) => void
  let spread: (value: number) => Promise<unknown>

  beforeEach(() => {
    sent = []
    spread = coalesceMax((greatest) => {
      sent.push(greatest)
      return new Promise((resolve, reject) => {
        settle = (error) => (error ? reject(error) : resolve(undefined))
      })
    })
  })

  const turn = () => new Promise(setImmediate)

  it('are sent at once, and those that come meanwhile together as their greatest', async () => {
    const first = spread(3)
    await turn()
    expect(sent).to.deep.equal([3])
    const later = [spread(5), spread(9), spread(7)]
    await turn()
    expect(sent).to.deep.equal([3])
    settle()
    await first
    await turn()
    expect(sent).to.deep.equal([3, 9])
    settle()
    await Promise.all(later)
  })

  it('fail with their own wave only', async () => {
    const first = spread(1).catch((error) => error.message)
    await turn()
    const second = spread(2)
    settle(new Error('lost'))
    expect(await first).to.equal('lost')
    await turn()
    expect(sent).to.deep.equal([1, 2])
    settle()
    await second
  })
})
