import { expect } from 'chai'
import { compilePattern } from '../../../../core/pcre/compile.ts'

describe('a firewall pattern that cannot be evaluated', () => {
  for (const [pattern, error] of [
    ['(a', 'a group misses its )'],
    ['a)', 'there is a ) too many'],
    ['[a', 'a class misses its ]'],
    ['[b-a]', 'a range in a class is out of order'],
    ['[[:foo:]]', '[:foo:] is no POSIX class'],
    ['*a', 'a quantifier follows nothing that can be repeated'],
    ['a{3,1}', 'the numbers of a quantifier are out of order'],
    ['\\p{Foo}', '\\p{Foo} is no known property'],
    ['\\1', 'there is no group 1'],
    ['(?&x)', 'there is no group x'],
    ['(?<n>a)(?<n>b)', 'two groups are named n'],
    ['(?<=a+)b', 'a branch of a look-behind has no fixed length'],
    ['(a)|b\\1', 'a back-reference to a group that may not have taken part cannot be evaluated'],
    ['(a)?(?(1)b)', 'conditions on groups cannot be evaluated'],
    ['\\((?R)?\\)', 'recursion cannot be evaluated'],
    ['a(*SKIP)b', 'verbs such as (*SKIP) cannot be evaluated'],
    ['\\X', '\\X cannot be evaluated'],
    ['a\\Gb', '\\G can be evaluated at the start of a pattern only'],
    ['((a{100}){100}){100}', 'it is too large'],
    ['a'.repeat(10_001), 'it is longer than 10000 characters'],
    ['\\', 'it ends with a backslash'],
  ] as const) {
    it(`says why: ${pattern.slice(0, 40)}`, () => {
      expect(compilePattern(pattern)).to.deep.equal({ error })
    })
  }
})
