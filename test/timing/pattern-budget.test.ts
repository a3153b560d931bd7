import { expect } from 'chai'
import { createPatternBudget } from '../../core/pcre/budget.ts'
import { type CompiledPattern, compilePattern } from '../../core/pcre/compile.ts'
import { parseReplacement } from '../../core/pcre/replacement.ts'
import { startRe2Worker } from '../../core/pcre/run-in-worker.ts'

const MASK = parseReplacement('x')

/** Milliseconds of CPU time; generous for a slow machine. Without a limit these runs would take centuries. */
const MAX_MS = 60

/** The RE2 prefilter matches the text, so the pattern reaches the backtracking engine. */
const RUNAWAY = '(a+)+(?![a!])'
const RUNAWAY_TEXT = `${'a'.repeat(40)}!`

describe('the time budget of firewall patterns', () => {
  before(startRe2Worker)

  for (const [pattern, text] of [
    ['(a+)+$', `${'a'.repeat(100_000)}!`],
    ['(?=x?)(a+)+$', `${'a'.repeat(100_000)}!`],
    [RUNAWAY, RUNAWAY_TEXT],
    ['(?<=a)(b|b)*c', `a${'b'.repeat(100_000)}`],
    ['(?=.)(?:(?:a|a)*)*(?!a)b$', `${'a'.repeat(100_000)}b!b`],
    ['(a|aa)+(?=$)\\1', `${'a'.repeat(100_000)}b`],
    ['(.*)(.*)(.*)(.*)\\1!', 'ab'.repeat(50_000)],
    ['(?=x?)(a{1,100}){1,100}c', `${'a'.repeat(5_000)}bc`],
    ['(x+x+)+(?<!z)y', `${'x'.repeat(100_000)} xy`],
    ['a[ab]{900}c', noise(100_000)],
    ['[ab]*a[ab]{900}c', noise(100_000)],
    ['(?:a[ab]{400}c|b[ab]{400}d)', noise(100_000)],
    ['/^(\\w+\\s?)*$/', `${'word '.repeat(20_000)}!`],
  ] as const) {
    it(`limits ${pattern} on ${text.length} characters`, () => {
      const compiled = compile(pattern)
      expect(timeOf(() => compiled.test(text, createPatternBudget()))).to.be.below(MAX_MS)
      expect(timeOf(() => compiled.replace(text, MASK, createPatternBudget()))).to.be.below(MAX_MS)
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
    it(`is not exceeded by compiling ${name}`, () => {
      let compiled: ReturnType<typeof compilePattern> | undefined
      const compileMs = timeOf(() => {
        compiled = compilePattern(pattern)
      })
      expect(compileMs).to.be.below(4 * MAX_MS)
      if (compiled === undefined || 'error' in compiled) return
      const { test } = compiled
      expect(timeOf(() => test('a'.repeat(100_000), createPatternBudget()))).to.be.below(MAX_MS)
    })
  }

  it('limits a mask that would expand a text to a gigabyte', () => {
    const text = 'a'.repeat(100_000)
    const replacement = parseReplacement('x'.repeat(10_000))
    expect(timeOf(() => compile('.').replace(text, replacement, createPatternBudget()))).to.be.below(MAX_MS)
  })

  it('records a pattern that exceeds the budget and counts it as no match', () => {
    const budget = createPatternBudget()
    expect(compile(RUNAWAY).test(RUNAWAY_TEXT, budget)).to.equal(false)
    expect(budget.overruns).to.deep.equal([RUNAWAY])
  })

  it('leaves the text unchanged if a mask exceeds the budget', () => {
    const budget = createPatternBudget()
    expect(compile(RUNAWAY).replace(RUNAWAY_TEXT, MASK, budget)).to.equal(RUNAWAY_TEXT)
    expect(budget.overruns).to.deep.equal([RUNAWAY])
  })

  it('is shared by all patterns of a request', () => {
    const budget = createPatternBudget()
    const patterns = Array.from({ length: 50 }, (_, n) => compile(`${RUNAWAY}|b{${n + 1}}`))
    const time = timeOf(() => patterns.map((pattern) => pattern.test(RUNAWAY_TEXT, budget)))
    expect(time).to.be.below(MAX_MS)
    expect(budget.overruns).to.have.length(50)
    expect(budget.remainingMs()).to.be.below(1)
  })

  it('leaves time for the patterns after a runaway pattern', () => {
    const budget = createPatternBudget()
    compile(RUNAWAY).test(RUNAWAY_TEXT, budget)
    expect(compile('secret').test('a SECRET', budget)).to.equal(true)
  })

  it('is not shared between requests', () => {
    const spent = createPatternBudget(0)
    const pattern = compile('a(?=b)')
    expect(pattern.test('ab', spent)).to.equal(false)
    expect(spent.overruns).to.deep.equal(['a(?=b)'])
    expect(pattern.test('ab', createPatternBudget())).to.equal(true)
  })

  it('is not exceeded by ordinary patterns on long texts', () => {
    const text = `${'lorem ipsum dolor sit amet, '.repeat(3_600)} card 4111 1111 1111 1111`
    const budget = createPatternBudget(1000)
    expect(compile('(?<!\\d)(?:\\d[ -]?){13,16}(?!\\d)').test(text, budget)).to.equal(true)
    expect(budget.overruns).to.deep.equal([])
  })
})

function compile(pattern: string): CompiledPattern {
  const compiled = compilePattern(pattern)
  if ('error' in compiled) throw new Error(`${pattern}: ${compiled.error}`)
  return compiled
}

/** The CPU time of the work in ms, which depends less on other processes than the elapsed time. */
function timeOf(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

/** A reproducible random string of the letters a and b. */
function noise(length: number): string {
  let state = 1
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state > 2 ** 30 ? 'a' : 'b'
  }).join('')
}
