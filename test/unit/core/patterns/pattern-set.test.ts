import { expect } from 'chai'
import { compileLiterals, compilePatternSet } from '../../../../core/patterns/pattern-set.ts'
import { patternRun } from '../../../support/pattern-run.ts'

describe('literals', () => {
  it('match in any case, by Unicode simple case folding', () => {
    for (const [literal, text] of [
      ['straße', 'STRAẞE'],
      ['σας', 'ΣΑΣ'],
      ['kelvin', '\u212Aelvin'],
      ['Привет', 'пРИВЕТ'],
    ] as const) {
      expect(compileLiterals([literal]).test(text), literal).to.equal(true)
    }
  })

  it('match special characters literally', () => {
    expect(compileLiterals(['a.b*[c](d)|e\\/-^$']).test('x A.B*[C](D)|E\\/-^$ y')).to.equal(true)
    expect(compileLiterals(['a.b']).test('axb')).to.equal(false)
  })
})

describe('a set of patterns', () => {
  it('finds the indexes of the patterns that match any of the texts', async () => {
    const set = await compilePatternSet(setOf('one', 'two', 't[a-z]o', 'four'))
    expect([...((await set.find(['two', 'one'], patternRun())) ?? [])].sort()).to.deep.equal([0, 1, 2])
  })

  it('searches several automata', async () => {
    const set = await compilePatternSet(setOf(...Array.from({ length: 3000 }, (_, n) => `word${n}x`)))
    expect([...((await set.find(['word5x word2999x'], patternRun())) ?? [])]).to.deep.equal([5, 2999])
  })

  it('searches many texts one by one', async () => {
    const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`)
    const set = await compilePatternSet(setOf('0\\s+text 1', 'text 7', 'never'))
    expect(await set.find(texts, patternRun())).to.deep.equal([1])
    expect(await set.find(['0 text 1', ...texts], patternRun())).to.deep.equal([0, 1])
    const anchored = await compilePatternSet(setOf('\\Atext 9\\z', '(?m:^)9', '\\Bext 5'))
    expect(await anchored.find(texts, patternRun())).to.deep.equal([0, 2])
  })

  it('returns undefined if the automaton cannot be built', async () => {
    const set = await compilePatternSet(setOf('fine', '(broken'))
    expect(await set.find(['fine'], patternRun())).to.equal(undefined)
  })

  it('finds the same in a pattern worker', async () => {
    const padding = 'x'.repeat(3_000_000)
    const set = await compilePatternSet(setOf('one', 'two'))
    expect(await set.find([`${padding}two`], patternRun())).to.deep.equal([1])
    expect(await set.find([padding], patternRun())).to.deep.equal([])
    const broken = await compilePatternSet(setOf('(broken'))
    expect(await broken.find([padding], patternRun())).to.equal(undefined)
  })

  it('is searched in a pattern worker if it is too large for the event loop', async () => {
    const large = { source: `(?:${'abcdefghij'.repeat(2000)})`, compileCost: 20_000 }
    const set = await compilePatternSet([...setOf('one'), large])
    expect(await set.find(['abcdefghij'.repeat(2000)], patternRun())).to.deep.equal([1])
  })
})

function setOf(...sources: readonly string[]) {
  return sources.map((source) => ({ source, compileCost: source.length }))
}
