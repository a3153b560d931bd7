import { expect } from 'chai'
import fc from 'fast-check'
import { hasLongList, stringifyInSlices } from '../../../../core/util/stringify-in-slices.ts'
import { inRounds } from '../../../support/property.ts'
import { ROUNDS } from '../../../support/rounds.ts'

const LONG = 120

describe('encoding a long list in time slices', () => {
  it('gives the same text as JSON.stringify', async () => {
    const values: readonly unknown[] = [
      ...[undefined, null, true, 0, -0, 1e21, Number.NaN, '', 'ü "\\ \u2028 \ud800', [], {}, [[]]],
      ...[new Date(0), { toJSON: () => 'own' }, () => 1, Symbol('s'), new Map([[1, 2]]), Object.create(null)],
      ...[{ a: undefined, b: () => 1, c: null }, Object.assign(Object.create(null), { d: 1 })],
    ]
    const { nested } = fc.letrec<{ nested: unknown }>((tie) => {
      const inner = fc.option(tie('nested'), { nil: null, freq: 3 })
      const item = fc.oneof(
        { arbitrary: fc.constantFrom(...values), weight: 19 },
        { arbitrary: inner, weight: 1 },
      )
      const items = fc.oneof(
        { arbitrary: fc.array(item, { maxLength: 3 }), weight: 4 },
        { arbitrary: fc.array(item, { minLength: LONG, maxLength: LONG }), weight: 1 },
      )
      const list = fc.tuple(items, inner).map(([list, rest]) => [...list, rest])
      const record = fc.tuple(items, inner).map(([list, rest]) => {
        return { ...Object.fromEntries(list.map((item, index) => [`"${index}`, item])), rest }
      })
      return { nested: fc.oneof(list, record) }
    })
    let longCount = 0
    const isSame = async (data: unknown) => {
      if (hasLongList({ data })) longCount += 1
      expect(await stringifyInSlices({ data })).to.equal(JSON.stringify({ data }))
    }
    await fc.assert(fc.asyncProperty(nested, isSame), inRounds(ROUNDS.slicedValues))
    expect(longCount).to.be.above(ROUNDS.slicedValues / 6)
  })

  it('is not needed for short lists', () => {
    expect(hasLongList({ data: Array.from({ length: 99 }, () => ({})) })).to.equal(false)
    expect(hasLongList({ data: { rules: Array.from({ length: 100 }, () => ({})) } })).to.equal(true)
  })
})
