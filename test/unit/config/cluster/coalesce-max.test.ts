import { expect } from 'chai'
import { coalesceMax } from '../../../../config/cluster/coalesce-max.ts'

describe('coalesceMax', () => {
  let sent: number[]
  let settle: (error?: Error) => void
  let send: (value: number) => Promise<unknown>

  beforeEach(() => {
    sent = []
    send = coalesceMax((greatest) => {
      sent.push(greatest)
      return new Promise((resolve, reject) => {
        settle = (error) => (error ? reject(error) : resolve(undefined))
      })
    })
  })

  const nextTurn = () => new Promise(setImmediate)

  it('sends the first value immediately and values that arrive meanwhile as their greatest', async () => {
    const first = send(3)
    await nextTurn()
    expect(sent).to.deep.equal([3])
    const later = [send(5), send(9), send(7)]
    await nextTurn()
    expect(sent).to.deep.equal([3])
    settle()
    await first
    await nextTurn()
    expect(sent).to.deep.equal([3, 9])
    settle()
    await Promise.all(later)
  })

  it('rejects only the callers of the failed batch', async () => {
    const first = send(1).catch((error) => error.message)
    await nextTurn()
    const second = send(2)
    settle(new Error('lost'))
    expect(await first).to.equal('lost')
    await nextTurn()
    expect(sent).to.deep.equal([1, 2])
    settle()
    await second
  })
})
