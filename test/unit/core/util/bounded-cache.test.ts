import { expect } from 'chai'
import { createBoundedCache } from '../../../../core/util/bounded-cache.ts'

describe('a bounded cache', () => {
  it('drops the least recently used entries beyond its limit, and tells which', () => {
    const dropped: [string, number][] = []
    const cache = createBoundedCache<string, number>(2, (value, key) => dropped.push([key, value]))
    cache.set('a', 1)
    cache.set('b', 2)
    expect(cache.get('a')).to.equal(1)
    cache.set('c', 3)

    expect([...cache.keys()].sort()).to.deep.equal(['a', 'c'])
    expect(cache.size).to.equal(2)
    expect(dropped).to.deep.equal([['b', 2]])
  })
})
