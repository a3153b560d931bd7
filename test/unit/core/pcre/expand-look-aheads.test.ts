import { expect } from 'chai'
import fc from 'fast-check'
import { compiled, patternRun } from '../../../support/pattern-run.ts'
import { inRounds } from '../../../support/property.ts'
import { ROUNDS } from '../../../support/rounds.ts'

describe('look-aheads about the characters that follow', () => {
  for (const pattern of [
    '\\b(?!000|666|9\\d{2})\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}\\b',
    '(?!0)\\d+',
    '(?=[a-f])(?!e)\\w{2,3}?',
    '(?!ab|a|x)[^\\n]{2}',
    '(?=[0-4]|[3-9])\\d\\d',
    '(?!a)a',
  ]) {
    it(`are left to RE2: ${pattern}`, () => {
      expect(compiled(pattern).engine).to.equal('re2')
    })
  }

  for (const pattern of [
    '(?!00)\\d',
    '(?=(a))a',
    '(?!a*)b',
    'a(?!b)',
    '(?!\\p{Lu})\\w',
    '(?=a|)b',
    '(?!a)(b|c)',
  ]) {
    it(`stay if they are about anything else: ${pattern}`, () => {
      expect(compiled(pattern).engine).to.equal('backtracking')
    })
  }

  it('match the same texts, and mask the same parts of them', async () => {
    const set = fc.constantFrom('a', 'b', '0', '1', '[ab]', '[^a]', '\\d', '\\w', '.', '[0b-c]')
    const row = (min: number, max = min) =>
      fc.array(set, { minLength: min, maxLength: max }).map((sets) => sets.join(''))
    const branches = fc.array(row(1, 3), { minLength: 1, maxLength: 3 }).map((rows) => rows.join('|'))
    const lookAhead = fc.tuple(fc.constantFrom('=', '!'), branches).map(([kind, text]) => `(?${kind}${text})`)
    const tail = fc.oneof(
      row(3),
      row(3).map((text) => `${text}+`),
      fc.tuple(set, set).map(([first, last]) => `${first}{2,4}?${last}`),
    )
    const start = fc.constantFrom('', '\\b', 'a')
    const pattern = fc.tuple(start, lookAhead, fc.oneof(fc.constant(''), lookAhead), tail)
    const subject = fc
      .array(fc.constantFrom('a', 'b', 'c', '0', '1', '-', '\n'), { minLength: 12, maxLength: 12 })
      .map((characters) => characters.join(''))
    const subjects = fc.array(subject, { minLength: 5, maxLength: 5 })
    let inRe2 = 0
    const isSame = async (pattern: string, subjects: readonly string[]) => {
      const prepared = compiled(`/${pattern}/`)
      inRe2 += prepared.engine === 're2' ? 1 : 0
      const expected = new RegExp(pattern, 'gu')
      for (const subject of subjects) {
        const masked = await prepared.replace(subject, ['<', 0, '>'], patternRun())
        expect(masked).to.equal(subject.replace(expected, '<$&>'))
      }
    }
    const patterns = pattern.map((parts) => parts.join(''))
    await fc.assert(fc.asyncProperty(patterns, subjects, isSame), inRounds(250 * ROUNDS.fuzz))
    expect(inRe2).to.be.above(75 * ROUNDS.fuzz)
  })
})
