import { expect } from 'chai'
import { equalsIgnoringCase } from '../../../../core/pcre/case-folding.ts'

const MAX_CODE_POINT = 0x10ffff
const CASED = /[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]/gu
const BLOCK_SIZE = 0x800

function* casedLetters(): Iterable<string> {
  for (let first = 0; first <= MAX_CODE_POINT; first += BLOCK_SIZE) {
    const block = String.fromCodePoint(...Array.from({ length: BLOCK_SIZE }, (_, index) => first + index))
    for (const [letter] of block.matchAll(CASED)) yield letter
  }
}

describe('letters that are equal when case is ignored', () => {
  it('are those of regular expressions with the flags i and u', () => {
    const wrong: string[] = []
    let count = 0
    for (const letter of casedLetters()) {
      count += 1
      const code = letter.codePointAt(0) ?? 0
      for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
        const [single, ...more] = other
        if (single === undefined || more.length > 0) continue
        const isEqual = new RegExp(`^${letter}$`, 'iu').test(other)
        if (equalsIgnoringCase(code, single.codePointAt(0) ?? 0) !== isEqual) wrong.push(letter + other)
      }
    }
    expect(wrong).to.deep.equal([])
    expect(count).to.be.above(2800)
  })

  it('include those of ASCII with a variant outside', () => {
    expect(equalsIgnoringCase(0x6b, 0x212a)).to.equal(true)
    expect(equalsIgnoringCase(0x17f, 0x53)).to.equal(true)
    expect(equalsIgnoringCase(0x61, 0x41)).to.equal(true)
    expect(equalsIgnoringCase(0x40, 0x60)).to.equal(false)
    expect(equalsIgnoringCase(0x69, 0x131)).to.equal(false)
  })
})
