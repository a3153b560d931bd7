import { expect } from 'chai'
import { compilePattern } from '../../../../core/patterns/patterns.ts'

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
    ['(?R)?b', 'A group that calls itself before it matches a character is not supported'],
    ['(a|(?2))(b*(?1))', 'A group that calls itself before it matches a character is not supported'],
    ['(*CRLF)a', 'Verbs with a name and verbs such as (*CRLF) are not supported'],
    ['a?(*COMMIT)b', '(*COMMIT) is supported only after a character, outside of look-around'],
    ['(?(?=a(*PRUNE)b)c)', 'Verbs in a condition are not supported'],
    ['(?(x*)a)', 'The condition of a conditional group is not recognized'],
    ['\\C', '\\C is not supported'],
    ['((a{100}){100}){100}', 'The pattern has more than 30000 elements once its repetitions are expanded'],
    ['a'.repeat(10_001), 'The pattern is longer than 10000 characters'],
    ['\\', 'The pattern ends with a backslash'],
  ] as const) {
    it(`explains ${pattern.slice(0, 40)}`, () => {
      expect(compilePattern({ kind: 'regex', text: pattern })).to.deep.equal({ error })
    })
  }
})
