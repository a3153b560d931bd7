import { expect } from 'chai'
import { countValues, hasMoreValues } from '../../../../core/util/json.ts'

const CASES: readonly (readonly [string, number])[] = [
  ['{}', 0],
  ['[[],[],{}]', 3],
  ['{"a":[1,2,{"b":"c"}],"d":null}', 6],
  ['{"a":"[,{\\\\\\",[{","b":"\\\\"}', 2],
  [`[${'[],'.repeat(999)}[]]`, 1000],
]

describe('the values of a JSON text', () => {
  it('are the fields and items at all levels', () => {
    for (const [text, count] of CASES) expect(countValues(JSON.parse(text)), text).to.equal(count)
  })
  it('are infinite if they are nested too deep', () => {
    expect(countValues([[[]]], 3)).to.equal(2)
    expect(countValues([[[]]], 2)).to.equal(Number.POSITIVE_INFINITY)
  })
  it('are estimated before the text is parsed, without what strings hold', () => {
    for (const [text, count] of CASES) {
      expect(hasMoreValues(Buffer.from(text), 2 * count + 1), text).to.equal(false)
      expect(hasMoreValues(Buffer.from(text), Math.ceil(count / 2) - 1), text).to.equal(true)
    }
  })
  it('of a text that ends in a string are not looked for behind it', () => {
    expect(hasMoreValues(Buffer.from('{"a":"[[[[['), 2)).to.equal(false)
  })
})
