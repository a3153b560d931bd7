import { expect } from 'chai'
import { RecentEntries } from '../../../../plugins/trace/recent-entries.ts'

describe('RecentEntries', () => {
  it('finds the most recent entries by key', () => {
    const recent = new RecentEntries<number>(3, 4)
    for (let n = 0; n < 10; n++) {
      recent.add(`key${n}`, n)
      for (let other = 0; other <= n; other++)
        expect(recent.find(`key${other}`), `${other} after ${n}`).to.equal(other > n - 3 ? other : undefined)
    }
  })

  it('ignores matches that span two keys', () => {
    const recent = new RecentEntries<string>(3, 4)
    recent.add('abab', 'first')
    recent.add('abcd', 'second')
    expect(recent.find('baba')).to.equal(undefined)
    expect(recent.find('ababa')).to.equal(undefined)
    expect(recent.find('')).to.equal(undefined)
    expect(recent.find('abcd')).to.equal('second')
  })

  it('works with a capacity of one', () => {
    const recent = new RecentEntries<number>(1, 1)
    expect(recent.find('a')).to.equal(undefined)
    recent.add('a', 1)
    recent.add('b', 2)
    expect([recent.find('a'), recent.find('b')]).to.deep.equal([undefined, 2])
  })
})
