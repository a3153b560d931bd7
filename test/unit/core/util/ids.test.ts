import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { newKeyId, newRequestId } from '../../../../core/util/ids.ts'

describe('ids', () => {
  it('have 24 base62 characters after their prefix', () => {
    expect(newRequestId()).to.match(/^req_[0-9A-Za-z]{24}$/)
    expect(newKeyId()).to.match(/^key_[0-9A-Za-z]{24}$/)
  })

  it('are unique within a millisecond', () => {
    const ids = Array.from({ length: 10_000 }, newRequestId)
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('of requests sort by creation time', async () => {
    const ids: string[] = []
    for (let count = 0; count < 20; count++) {
      ids.push(newRequestId())
      await setTimeout(2)
    }
    expect([...ids].sort()).to.deep.equal(ids)
  })

  it('of requests encode the time, and share nothing else with other ids', () => {
    const before = Date.now()
    const [one, other] = [newRequestId(), newRequestId()]
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const time = [...one.slice(4, 11)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
    expect(time).to.be.within(before, Date.now())
    expect(one.slice(11)).not.to.equal(other.slice(11))
  })
})
