import { expect } from 'chai'
import { parseDelimiters } from '../../../../core/pcre/parser-state.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'

describe('parsing the delimiters of a firewall pattern', () => {
  it('reads a pattern without delimiters as case-insensitive', () => {
    expect(parseDelimiters('a+')).to.deep.equal({ body: 'a+', modifiers: 'i' })
  })

  for (const delimiter of '/#~!@%;,|') {
    it(`accepts ${delimiter} as the delimiter`, () => {
      const pattern = `${delimiter}a+${delimiter}ms`
      expect(parseDelimiters(pattern)).to.deep.equal({ body: 'a+', modifiers: 'ms' })
    })
  }

  it('accepts a pair of brackets as delimiters if modifiers follow', () => {
    for (const pattern of ['(foo)i', '[foo]i', '{foo}i', '<foo>i'])
      expect(parseDelimiters(pattern)).to.deep.equal({ body: 'foo', modifiers: 'i' })
  })

  it('accepts brackets only if they are a pair around a pattern', () => {
    for (const pattern of ['(?i)A', '(a)|(b)i', '[a]|[b]i', '(a\\)i', '(*UTF)s']) {
      expect(parseDelimiters(pattern)).to.deep.equal({ body: pattern, modifiers: 'i' })
    }
  })

  it('does not accept brackets without modifiers as delimiters', () => {
    for (const pattern of ['(foo)', '[a-z]', '{a}', '<a>']) {
      expect(parseDelimiters(pattern)).to.deep.equal({ body: pattern, modifiers: 'i' })
    }
  })

  it('treats delimiters as part of the pattern if anything but modifiers follows them', () => {
    expect(parseDelimiters('/a/e')).to.deep.equal({ body: '/a/e', modifiers: 'i' })
  })

  it('treats a single delimiter as part of the pattern', () => {
    expect(parseDelimiters('/usr')).to.deep.equal({ body: '/usr', modifiers: 'i' })
    expect(parseDelimiters('/')).to.deep.equal({ body: '/', modifiers: 'i' })
  })

  it('accepts a pattern of several lines', () => {
    expect(parseDelimiters('/a\nb/x')).to.deep.equal({ body: 'a\nb', modifiers: 'x' })
  })

  it('needs no escaped slash in a pattern without delimiters', () => {
    expect(compiled('https?://evil').test('see HTTP://EVIL.example', patternRun())).to.equal(true)
  })
})
