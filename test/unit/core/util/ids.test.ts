import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { newKeyId, newRequestId } from '../../../../core/util/ids.ts'

describe('ids', () => {
  it('are 24 characters of base62 behind their prefix', () => {
    expect(newRequestId()).to.match(/^req_[0-9A-Za-z]{24}$/)
    expect(newKeyId()).to.match(/^key_[0-9A-Za-z]{24}$/)
  })

  it('differ, however many are made in a millisecond', () => {
    const ids = Array.from({ length: 10_000 }, newRequestId)
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('of requests sort by the millisecond in which they were made', async () => {
    const ids: string[] = []
    for (let count = 0; count < 20; count++) {
      ids.push(newRequestId())
      await setTimeout(2)
    }
    expect([...ids].sort()).to.deep.equal(ids)
  })

  it('of requests tell their time and nothing else that another request could be known by', () => {
    const before = Date.now()
    const [one, other] = [newRequestId(), newRequestId()]
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
    const time = [...one.slice(4, 11)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
    expect(time).to.be.within(before, Date.now())
    expect(one.slice(11)).not.to.equal(other.slice(11))
  })
})
