import { expect } from 'chai'
import { compilePattern } from '../../../../core/pcre/patterns.ts'

describe('errors of firewall patterns', () => {
  for (const [pattern, error] of [
    ['(a', 'A group has no closing parenthesis'],
    ['a)', 'A closing parenthesis has no opening parenthesis'],
    ['[a', 'A character class has no closing bracket'],
    ['[b-a]', 'A range in a character class is out of order'],
    ['[[:foo:]]', '[:foo:] is not a POSIX class'],
    ['*a', 'A quantifier does not follow a repeatable item'],
    ['a{3,1}', 'The bounds of a quantifier are out of order'],
    ['\\p{Foo}', '\\p{Foo} is not a known Unicode property'],
    ['\\1', 'Group 1 does not exist'],
    ['(?&x)', 'Group x does not exist'],
    ['(?<n>a)(?<n>b)', 'Two groups are named n'],
    ['(?<=a+)b', 'A branch of a look-behind does not have a fixed length'],
    [
      '(a*)|b\\1',
      'Back-references to groups that may be unset and may be empty or repeated are not supported',
    ],
    ['(a)*(?(1)b)', 'Conditions on groups that may be empty or are repeated are not supported'],
    ['(?(R)a|b)', 'Conditions on recursion are not supported'],
    ['\\((?R)?\\)', 'Recursion is not supported'],
    ['a(*SKIP)b', 'Verbs such as (*SKIP) are not supported'],
    ['\\X', '\\X is not supported'],
    ['a\\Gb', '\\G is supported only at the start of a pattern'],
    ['((a{100}){100}){100}', 'The pattern has more than 30000 elements once its repetitions are expanded'],
    ['a'.repeat(10_001), 'The pattern is longer than 10000 characters'],
    ['\\', 'The pattern ends with a backslash'],
  ] as const) {
    it(`explains ${pattern.slice(0, 40)}`, () => {
      expect(compilePattern({ kind: 'regex', text: pattern })).to.deep.equal({ error })
    })
  }
})
