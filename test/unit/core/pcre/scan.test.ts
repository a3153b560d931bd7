import { expect } from 'chai'
import type { ScanResult } from '../../../../core/pcre/pattern.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'

const REPLACEMENT = ['<', 0, '>']

function scan(pattern: string, text: string, from = 0): ScanResult | Promise<ScanResult> {
  return compiled(pattern).scan({ text, from, replacement: REPLACEMENT }, patternRun())
}

describe('scanning a text of which more will follow', () => {
  it('returns the matches that are decided, and where an open one begins', () => {
    expect(scan('/ab+/', 'abb xab')).to.deep.equal({
      matches: [{ foundAt: 0, start: 0, end: 3, replacement: '<abb>' }],
      openFrom: 5,
      openMatch: { foundAt: 5, start: 5, end: 7, replacement: '<ab>' },
    })
    expect(scan('/ab+/', 'no match x')).to.deep.equal({ matches: [], openFrom: 10, openMatch: undefined })
  })

  it('ignores what was scanned before, but sees it', async () => {
    expect(scan('/\\bcat\\b/', 'concat ', 3)).to.deep.include({ matches: [], openFrom: 7 })
    expect(await scan('/(?<=n)cat/', 'concat ', 3)).to.have.nested.property('matches[0].start', 3)
    expect(scan('/cat/', 'cat cat ', 1)).to.have.nested.property('matches[0].start', 4)
  })

  it('leaves everything open if a pattern is too large to search open matches', async () => {
    const { openFrom, matches } = await scan('/(?:abcde){900}/', 'some words')
    expect({ openFrom, matches }).to.deep.equal({ openFrom: 0, matches: [] })
  })

  it('runs in a pattern worker if it could hold the event loop, with the same result', async () => {
    const text = `${'a'.repeat(20_000)} secret and sec`
    const scanned = scan('/secret|(?:[ab]{1,60}c){2}/', text)
    expect(scanned).to.be.a('promise')
    expect(await scanned).to.deep.include({
      matches: [{ foundAt: 20_001, start: 20_001, end: 20_007, replacement: '<secret>' }],
      openFrom: 20_012,
    })
  })

  it('does not disturb later replacements', async () => {
    for (const pattern of ['/\\bword\\b/', '/word(?!x)/', '/x?word$/']) {
      scan(pattern, `${'- '.repeat(20)}word`)
      expect(await compiled(pattern).replace('word', REPLACEMENT, patternRun())).to.equal('<word>')
    }
  })
})
