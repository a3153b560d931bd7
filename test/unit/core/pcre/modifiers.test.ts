import { expect } from 'chai'
import { createPatternBudget } from '../../../../core/pcre/budget.ts'
import { compilePattern } from '../../../../core/pcre/compile.ts'
import { parseDelimiters } from '../../../../core/pcre/modifiers.ts'

describe('the delimiters of a firewall pattern', () => {
  it('are added, ignoring case, to a pattern without', () => {
    expect(parseDelimiters('a+')).to.deep.equal({ body: 'a+', modifiers: 'i' })
  })

  for (const delimiter of '/#~!@%;,|') {
    it(`may be ${delimiter}`, () => {
      const pattern = `${delimiter}a+${delimiter}ms`
      expect(parseDelimiters(pattern)).to.deep.equal({ body: 'a+', modifiers: 'ms' })
    })
  }

  it('are not brackets', () => {
    for (const pattern of ['(foo)', '[a-z]', '{a}', '<a>']) {
      expect(parseDelimiters(pattern)).to.deep.equal({ body: pattern, modifiers: 'i' })
    }
  })

  it('are part of the pattern when something else than a modifier follows', () => {
    expect(parseDelimiters('/a/e')).to.deep.equal({ body: '/a/e', modifiers: 'i' })
  })

  it('are part of the pattern when there is only one', () => {
    expect(parseDelimiters('/usr')).to.deep.equal({ body: '/usr', modifiers: 'i' })
    expect(parseDelimiters('/')).to.deep.equal({ body: '/', modifiers: 'i' })
  })

  it('may hold several lines', () => {
    expect(parseDelimiters('/a\nb/x')).to.deep.equal({ body: 'a\nb', modifiers: 'x' })
  })

  it('need no escape within a pattern that has none', () => {
    const pattern = compilePattern('https?://evil')
    if ('error' in pattern) throw new Error(pattern.error)
    expect(pattern.test('see HTTP://EVIL.example', createPatternBudget())).to.equal(true)
  })
})
