import { expect } from 'chai'
import { RecentEntries } from '../../../../plugins/trace/plugin.ts'

describe('recent values', () => {
  it('are found by their keys, the last so many of them', () => {
    const recent = new RecentEntries<number>(3, 4)
    for (let n = 0; n < 10; n++) {
      recent.keep(`key${n}`, n)
      for (let other = 0; other <= n; other++)
        expect(recent.find(`key${other}`), `${other} after ${n}`).to.equal(other > n - 3 ? other : undefined)
    }
  })

  it('are not found by what lies between two keys', () => {
    const recent = new RecentEntries<string>(3, 4)
    recent.keep('abab', 'first')
    recent.keep('abcd', 'second')
    expect(recent.find('baba')).to.equal(undefined)
    expect(recent.find('ababa')).to.equal(undefined)
    expect(recent.find('')).to.equal(undefined)
    expect(recent.find('abcd')).to.equal('second')
  })

  it('may be one only', () => {
    const recent = new RecentEntries<number>(1, 1)
    expect(recent.find('a')).to.equal(undefined)
    recent.keep('a', 1)
    recent.keep('b', 2)
    expect([recent.find('a'), recent.find('b')]).to.deep.equal([undefined, 2])
  })
})
