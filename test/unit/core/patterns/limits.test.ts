import { expect } from 'chai'
import { PatternLimitError } from '../../../../core/patterns/pattern-run.ts'
import { compilePattern, preparePatterns } from '../../../../core/patterns/patterns.ts'
import { parseReplacement } from '../../../../core/pcre/pattern.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'

const MASK = parseReplacement('x')

/** CPU time that every pattern below exceeds: without a limit they would take seconds to centuries. */
const LIMIT_MS = 50

/** The over-approximation in RE2 matches the text, so the pattern reaches the backtracking engine. */
const RUNAWAY = '(a+)+(?![a!])'
const RUNAWAY_TEXT = `${'a'.repeat(40)}!`

describe('the limits of firewall patterns', function () {
  this.timeout(180_000)

  for (const [pattern, text] of [
    [RUNAWAY, RUNAWAY_TEXT],
    ['(a|aa)+(?=!)\\1', `${'a'.repeat(100_000)}!b`],
    ['(?:(a)|a|aa)+(?(1)y|x)', `${'a'.repeat(60)}x`],
    ['(a(?1)?|aa)+(?=[!x])(*THEN)x|.(*PRUNE)y', `${'a'.repeat(50_000)}!x`],
  ] as const) {
    it(`end ${pattern} on ${text.length} characters`, async () => {
      await expectLimit(() => compiled(pattern).test(text, patternRun(LIMIT_MS)))
      await expectLimit(() => compiled(pattern).replace(text, MASK, patternRun(LIMIT_MS)))
    })
  }

  for (const [pattern, text, matches] of [
    ['(a+)+$', `${'a'.repeat(100_000)}!`, false],
    ['(?=x?)(a+)+$', `${'a'.repeat(100_000)}!`, false],
    ['(?<=a)(b|b)*c', `a${'b'.repeat(100_000)}`, false],
    ['(x+x+)+(?<!z)y', `${'x'.repeat(100_000)} xy`, false],
    ['\\((?:[^()]|(?R))*\\)', `${'('.repeat(20_000)}${')'.repeat(20_000)}`, true],
    ['\\((?:[^()]++|(?R))*+\\)', `${'lorem (ipsum '.repeat(8000)}`, false],
    ['/^(\\w+\\s?)*$/', `${'word '.repeat(20_000)}!`, false],
    ['(?<!\\d)(?:\\d[ -]?){13,16}(?!\\d)', `${'lorem ipsum, '.repeat(8000)} card 4111 1111 1111 1111`, true],
  ] as const) {
    it(`do not end ${pattern} on ${text.length} characters`, async () => {
      expect(await compiled(pattern).test(text, patternRun())).to.equal(matches)
    })
  }

  for (const [name, pattern] of [
    ['nested quantifiers', '((a{100}){100}){100}'],
    ['optional parts', 'a?'.repeat(5_000)],
    ['nested groups', `${'(?:'.repeat(240)}a${')*'.repeat(240)}`],
    ['atomic groups', '(?>a?)'.repeat(1_600)],
    ['properties', '\\p{L}'.repeat(1_900)],
    [
      'nested subroutine calls',
      Array.from({ length: 60 }, (_, n) => `(?<g${n}>${n > 0 ? `(?&g${n - 1})`.repeat(2) : 'a'})`).join(''),
    ],
    ['a branch reset with many back-references', `(?|${'(a)|'.repeat(240)}b)${'\\1'.repeat(4_000)}`],
  ] as const) {
    it(`apply to ${name}`, async () => {
      const source = { kind: 'regex' as const, text: pattern }
      await preparePatterns([source], 1)
      const prepared = compilePattern(source)
      if ('error' in prepared) return
      const result = Promise.resolve(prepared.test('a'.repeat(100_000), patternRun(500)))
      await result.catch((error) => expect(error).to.be.instanceOf(PatternLimitError))
    })
  }

  it('refuse a mask that would expand a text to a gigabyte', async () => {
    const replacement = parseReplacement('x'.repeat(1000))
    for (const pattern of ['.', '(?=.).']) {
      await expectLimit(() => compiled(pattern).replace('a'.repeat(1_000_000), replacement, patternRun()))
      await expectLimit(() => compiled(pattern).replace('a'.repeat(1000), replacement, patternRun()))
    }
  })

  it('accept a mask that expands a text to four times its length and 64 KB', async () => {
    const replaced = await compiled('a').replace(
      'a'.repeat(20_000),
      parseReplacement('xxxxxxx'),
      patternRun(),
    )
    expect(replaced).to.have.length(140_000)
    await expectLimit(() =>
      compiled('a').replace('a'.repeat(100_000), parseReplacement('xxxxx'), patternRun()),
    )
  })

  it('are shared by all patterns of a request', async () => {
    const run = patternRun(LIMIT_MS)
    await expectLimit(() => compiled(RUNAWAY).test(RUNAWAY_TEXT, run))
    await expectLimit(() => compiled(`${RUNAWAY}|b`).test(RUNAWAY_TEXT, run))
    expect(await compiled('secret').test('a SECRET', run)).to.equal(true)
  })

  it('are not shared between requests', async () => {
    await expectLimit(() => compiled(RUNAWAY).test(RUNAWAY_TEXT, patternRun(LIMIT_MS)))
    expect(await compiled('a(?=b)').test('ab', patternRun())).to.equal(true)
  })
})

async function expectLimit(work: () => unknown): Promise<void> {
  const outcome = await Promise.resolve()
    .then(work)
    .then(
      () => 'it finished',
      (error: unknown) => error,
    )
  expect(outcome).to.be.instanceOf(PatternLimitError)
}
