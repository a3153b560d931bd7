import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import RE2 from 're2'
import { createPatternBudget } from '../../../../core/pcre/budget.ts'
import { type CompiledPattern, compileLiteral, compilePattern } from '../../../../core/pcre/compile.ts'
import { literalReplacement, parseReplacement } from '../../../../core/pcre/replacement.ts'

import { ROOT } from '../../../support/root.ts'

/** What PHP made of a pattern; null where it refuses the pattern. Written by php/generate.php. */
interface Row {
  readonly topic: string
  readonly pattern: string
  readonly subject: string
  readonly replacement: string
  readonly matches: boolean | null
  readonly replaced: string | null
  /** Why we differ, as listed in docs/firewall-patterns.md. */
  readonly difference?: string
}

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const rows: readonly Row[] = JSON.parse(read('./php/expectations.json'))

describe('firewall patterns', () => {
  describe('beside PHP', () => {
    for (const topic of new Set(rows.map((row) => row.topic))) {
      it(`mean the same: ${topic}`, () => {
        for (const row of rows) {
          if (row.topic === topic && row.difference === undefined)
            expect(run(row), show(row)).to.deep.equal(wanted(row))
        }
      })
    }

    it('differ only where the table says so', () => {
      for (const row of rows) {
        if (row.difference !== undefined) expect(run(row), show(row)).not.to.deep.equal(wanted(row))
      }
    })

    it('differ for reasons that the documentation gives', () => {
      const documentation = readFileSync(new URL('docs/firewall-patterns.md', ROOT), 'utf8')
      for (const { difference } of rows) {
        if (difference !== undefined) expect(documentation).to.contain(`\`${difference}\``)
      }
    })

    it('are compared in at least 500 rows', () => {
      expect(rows.length).to.be.above(500)
    })
  })

  it('run on RE2 where RE2 can', () => {
    expect(compile('\\bfoo(?:bar)*$').engine).to.equal('re2')
  })

  it('run on the backtracking engine where only PCRE can', () => {
    expect(compile('foo(?!bar)').engine).to.equal('backtracking')
  })

  it('share one automaton whatever their modifiers', () => {
    const patterns = ['/a.b/s', '/A$/m', 'c d', '/E/', '/(?<=x)f/i'].map(compile)
    const set = new RE2.Set(
      patterns.map(({ re2SetSource: automaton }) => automaton ?? ''),
      'u',
    )
    expect(set.match('a\nb').toSorted()).to.deep.equal([0])
    expect(set.match('A\ne').toSorted()).to.deep.equal([1])
    expect(set.match('C D E').toSorted()).to.deep.equal([2, 3])
    expect(set.match('F')).to.deep.equal([4])
  })

  it('find literals in any case', () => {
    expect(literal('Straße.').test('STRAẞE.', createPatternBudget())).to.equal(true)
    expect(literal('a.b').test('axb', createPatternBudget())).to.equal(false)
  })

  it('find literals of a thousand characters', () => {
    for (const letter of ['a', 'я', '漢', '.']) {
      const text = letter.repeat(1000)
      expect(literal(text).test(`x${text}`, createPatternBudget(1000))).to.equal(true)
    }
  })

  it('replace literals literally', () => {
    const replaced = literal('a.b').replace('xA.Bx', literalReplacement('$0\\1'), createPatternBudget())
    expect(replaced).to.equal('x$0\\1x')
  })
})

function compile(pattern: string): CompiledPattern {
  const compiled = compilePattern(pattern)
  if ('error' in compiled) throw new Error(`${pattern}: ${compiled.error}`)
  return compiled
}

function literal(text: string): CompiledPattern {
  const compiled = compileLiteral(text)
  if ('error' in compiled) throw new Error(`${text}: ${compiled.error}`)
  return compiled
}

/** A pattern that cannot be evaluated counts as no match. */
function run({ pattern, subject, replacement, matches }: Row) {
  const compiled = compilePattern(pattern)
  if ('error' in compiled) return matches === null ? 'refused' : { matches: false, replaced: subject }
  return {
    matches: compiled.test(subject, createPatternBudget(2000)),
    replaced: compiled.replace(subject, parseReplacement(replacement), createPatternBudget(2000)),
  }
}

function wanted({ matches, replaced }: Row) {
  return matches === null ? 'refused' : { matches, replaced }
}

function show({ pattern, subject, replacement }: Row): string {
  return JSON.stringify({ pattern, subject, replacement })
}
