import { expect } from 'chai'
import fc from 'fast-check'
import {
  buildLiteralPattern,
  compileLiterals,
  compilePatternSet,
} from '../../../../core/patterns/pattern-set.ts'
import type { SetPattern } from '../../../../core/pcre/pattern.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'
import { inRounds } from '../../../support/property.ts'
import { ROUNDS } from '../../../support/rounds.ts'

describe('the text that every match of a pattern contains', () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '\\bSecret[-_ ]?17\\b': 'secret',
    '[a-z]+@corp7\\.com': '@corp7.com',
    'ab(cd)e(?>f)': 'abcdef',
    'x(?:longer){2,}yz': 'longer',
    'long\\bword': 'longword',
    'quite(some)?': 'quite',
    'one|another': undefined,
    '(?:text)*': undefined,
    'a.b.c.d': undefined,
    abc: undefined,
    'ab[kK]de': 'abkde',
    'ab[kx]de': undefined,
    'ab[^k]de': undefined,
    'abä(?=defg)d': undefined,
    '/(?<!no)where/': 'where',
    '(words)\\1': 'words',
    '(?:ab){1}cde': 'abcde',
    abcd: undefined,
  }
  for (const [pattern, literal] of Object.entries(cases))
    it(`is ${literal ?? 'not known'} for ${pattern}`, () => {
      expect(compiled(pattern).literal).to.equal(literal)
    })
})

describe('a set of many patterns', () => {
  const toSet = (patterns: readonly string[]) =>
    compilePatternSet(
      patterns.map((text): SetPattern => {
        const { re2SetSource = '', literal } = compiled(text)
        // So that three patterns make a chunk.
        return {
          source: re2SetSource,
          compileCost: 2600,
          literals: literal === undefined ? undefined : [literal],
        }
      }),
    )

  it('finds what each pattern finds on its own, in random texts', async () => {
    const words = ['kiss', 'mask', 'Secret', 'abcd', 'bcde', 'cdab', 'xabcd', 'ask', 'SSSS', '0000', 'ä1ab']
    const glue = ['', ' ', '-', '.', 'k', 's', '\u212a', '\u017f', 'é', '\n']
    const shapes = [
      (a: string, b: string) => `${a}${b}`,
      (a: string, b: string) => `${a}|${b}`,
      (a: string, b: string) => `\\b${a}.?${b}`,
      (a: string, b: string) => `(${a})?${b}+`,
      (a: string, b: string) => `(?:${a}){2}|x${b}x`,
      (a: string, b: string) => `[${a}]${b}`,
      (a: string, b: string) => `(?-i)${a}\\s*(?i:${b})`,
    ]
    const listOf = <Item>(item: fc.Arbitrary<Item>, length: number) =>
      fc.array(item, { minLength: length, maxLength: length })
    const known = fc.constantFrom(...words)
    const pattern = fc.tuple(fc.constantFrom(...shapes), known, known).map(([shape, a, b]) => shape(a, b))
    // A letter in four is another one that is the same in other case.
    const part = fc
      .tuple(known, fc.boolean(), fc.nat(3), fc.constantFrom(...glue))
      .map(([word, isUpper, varied, glue]) => {
        const vary = (letter: string, at: number) =>
          at % 4 !== varied ? letter : letter === 'k' ? '\u212a' : '\u017f'
        return (isUpper ? word.toUpperCase() : word).replace(/[ks]/g, vary) + glue
      })
    const text = listOf(part, 6).map((parts) => parts.join(''))
    let matches = 0
    const findsAll = async (patterns: readonly string[], texts: readonly string[]) => {
      const set = await toSet(patterns)
      for (const text of texts) {
        const expected = patterns.flatMap((pattern, index) =>
          compiled(pattern).test(text, patternRun()) === true ? [index] : [],
        )
        matches += expected.length
        expect(await set.find([text], patternRun()), JSON.stringify({ text })).to.deep.equal(expected)
      }
    }
    await fc.assert(fc.asyncProperty(listOf(pattern, 30), listOf(text, 20), findsAll), inRounds(60))
    expect(matches).to.be.above(1000)
  })

  it('finds lists of literals in short and long texts, one or several', async () => {
    const lists = ['kiss', 'Ask for MORE', 'ſecret', 'abc', 'straße', 'x'.repeat(40)].map((word) => [
      word,
      'Zebra',
    ])
    const set = await compilePatternSet(lists.map(buildLiteralPattern))
    const known = lists.map(compileLiterals)
    const parts = [
      'KISS',
      '\u212aiss',
      'Secret',
      'ABC',
      'a',
      'b',
      'c',
      'STRASSE',
      'STRAẞE',
      'zEBRa',
      'zebr',
      'ask f',
    ]
    const fillers = [
      '',
      'lorem ipsum '.repeat(60),
      'dolor sit amet '.repeat(150),
      'x'.repeat(39),
      'é '.repeat(300),
      'ask for more'.repeat(60),
    ]
    const text = fc
      .tuple(...[fillers, parts, parts].map((texts) => fc.constantFrom(...texts)))
      .map((pieces) => pieces.join(''))
    const findsAll = async (texts: readonly string[]) => {
      const expected = known.flatMap((regex, index) =>
        texts.some((text) => regex.test(text)) ? [index] : [],
      )
      expect(await set.find(texts, patternRun())).to.deep.equal(expected)
    }
    const texts = fc.array(text, { minLength: 1, maxLength: 9 })
    await fc.assert(fc.asyncProperty(texts, findsAll), inRounds(125 * ROUNDS.fuzz))
  })

  it('finds few and many literals at every offset of a long text', async () => {
    const words = Array.from({ length: 20 }, (_, n) => `item${n}.`)
    const set = await compilePatternSet(words.map((word) => buildLiteralPattern([word])))
    for (let offset = 0; offset < 8; offset++) {
      const filler = `${'x'.repeat(offset)}${'y '.repeat(1200)}`
      expect(await set.find([`${filler}ITEM7.`], patternRun())).to.deep.equal([7])
      expect(await set.find([filler + words.join('')], patternRun())).to.deep.equal([...words.keys()])
      expect(await set.find([filler, words.join(' '), 'item'], patternRun())).to.have.lengthOf(20)
    }
    expect(await set.find([`${'y '.repeat(1200)}item7`, '.'], patternRun())).to.deep.equal([])
  })

  it('finds a literal among many with the same end, at the beginning and the end of a text', async () => {
    const patterns = Array.from({ length: 40 }, (_, n) => `word${n}same`)
    const set = await toSet(patterns)

    for (const n of [0, 7, 8, 39])
      for (const text of [`WORD${n}SAME`, `word${n}same and more`, `more and word${n}same`])
        expect(await set.find([text], patternRun())).to.deep.equal([n])
    expect(await set.find(['same', 'word1', 'word7sam'], patternRun())).to.deep.equal([])
  })
})
