import { expect } from 'chai'
import { compiled, patternRun } from '../../../support/pattern-run.ts'
import { createRandom } from '../../../support/random.ts'
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
    const { pick, integer } = createRandom(7)
    const set = () => pick(['a', 'b', '0', '1', '[ab]', '[^a]', '\\d', '\\w', '.', '[0b-c]'])
    const row = (length: number) => Array.from({ length }, set).join('')
    const branches = () => Array.from({ length: 1 + integer(3) }, () => row(1 + integer(3))).join('|')
    const lookAhead = () => `(?${pick(['=', '!'])}${branches()})`
    const tail = () => pick([row(3), `${row(2)}${set()}+`, `${set()}{2,4}?${set()}`])
    let inRe2 = 0
    for (let round = 0; round < 250 * ROUNDS.fuzz; round++) {
      const pattern = `/${pick(['', '\\b', 'a'])}${lookAhead()}${pick(['', lookAhead()])}${tail()}/`
      const prepared = compiled(pattern)
      inRe2 += prepared.engine === 're2' ? 1 : 0
      const expected = new RegExp(pattern.slice(1, -1), 'gu')
      for (let text = 0; text < 5; text++) {
        const subject = Array.from({ length: 12 }, () => pick(['a', 'b', 'c', '0', '1', '-', '\n'])).join('')
        const masked = await prepared.replace(subject, ['<', 0, '>'], patternRun())
        expect(masked, JSON.stringify([pattern, subject])).to.equal(subject.replace(expected, '<$&>'))
      }
    }
    expect(inRe2).to.be.above(75 * ROUNDS.fuzz)
  })
})
