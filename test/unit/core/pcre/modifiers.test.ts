import { expect } from 'chai'
import { createPatternBudget } from '../../../../core/pcre/budget.ts'
import { compilePattern } from '../../../../core/pcre/compile.ts'
import { parseDelimiters } from '../../../../core/pcre/modifiers.ts'

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

  it('does not accept brackets as delimiters', () => {
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
    const pattern = compilePattern('https?://evil')
    if ('error' in pattern) throw new Error(pattern.error)
    expect(pattern.test('see HTTP://EVIL.example', createPatternBudget())).to.equal(true)
  })
})
