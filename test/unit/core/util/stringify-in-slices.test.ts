import { expect } from 'chai'
import { hasLongList, stringifyInSlices } from '../../../../core/util/stringify-in-slices.ts'
import { createRandom } from '../../../support/random.ts'
import { ROUNDS } from '../../../support/rounds.ts'

const LONG = 120

describe('encoding a long list in time slices', () => {
  it('gives the same text as JSON.stringify', async () => {
    const values: readonly unknown[] = [
      ...[undefined, null, true, 0, -0, 1e21, Number.NaN, '', 'ü "\\ \u2028 \ud800', [], {}, [[]]],
      ...[new Date(0), { toJSON: () => 'own' }, () => 1, Symbol('s'), new Map([[1, 2]]), Object.create(null)],
      ...[{ a: undefined, b: () => 1, c: null }, Object.assign(Object.create(null), { d: 1 })],
    ]
    const random = createRandom(20261123)
    function build(depth: number): unknown {
      if (depth === 0) return random.pick(values)
      const length = random.chance(0.2) ? LONG : random.integer(4)
      const items = Array.from({ length }, () => build(random.chance(0.05) ? depth - 1 : 0))
      if (random.chance(0.5)) return [...items, build(depth - 1)]
      return {
        ...Object.fromEntries(items.map((item, index) => [`"${index}`, item])),
        rest: build(depth - 1),
      }
    }
    let longCount = 0
    for (let round = 0; round < ROUNDS.slicedValues; round++) {
      const value = { data: build(1 + (round % 7)) }
      if (hasLongList(value)) longCount += 1
      expect(await stringifyInSlices(value)).to.equal(JSON.stringify(value))
    }
    expect(longCount).to.be.above(ROUNDS.slicedValues / 6)
  })

  it('is not needed for short lists', () => {
    expect(hasLongList({ data: Array.from({ length: 99 }, () => ({})) })).to.equal(false)
    expect(hasLongList({ data: { rules: Array.from({ length: 100 }, () => ({})) } })).to.equal(true)
  })
})
