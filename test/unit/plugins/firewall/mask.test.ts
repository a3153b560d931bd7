import { expect } from 'chai'
import fc from 'fast-check'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { literalReplacement } from '../../../../core/pcre/pattern.ts'
import { type Masking, maskRequest } from '../../../../plugins/firewall/mask.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'
import { inRounds } from '../../../support/property.ts'

const PATTERNS = [
  ...[
    '\\d{3}',
    '^\\d+$',
    '/a$/',
    '/^b/m',
    '\\Bx',
    '\\bxy\\b',
    'x\\sy',
    '(?<!a)b',
    '(?<=\\d)x(?!y)',
    '(\\w)\\1',
  ],
  ...['/\\Aab/', '/b\\z/', '(?!12)\\d\\d', '\\p{Lu}b', '/a++b/', '[^a]x'],
]
const PIECES = ['a', 'b', 'x', 'y', 'xy', 'ab', '1', '12', '123', ' ', '-', 'Ä', 'B', '']

function masking(text: string, isFiltered: boolean): Masking {
  const pattern = compiled(text)
  return {
    replace: (value) => pattern.replace(value, literalReplacement('#'), patternRun()),
    erase: (value) => pattern.replace(value, literalReplacement('-'), patternRun()),
    matches: (value) => pattern.test(value, patternRun()),
    mayMatchAny: isFiltered ? pattern.mayMatchAny : () => true,
    pause: () => Promise.resolve(),
  }
}

describe('masking many values', () => {
  it('replaces what masking each of them replaces, whatever the pattern', async () => {
    const value = fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }).map((pieces) => pieces.join(''))
    const rows = fc.array(fc.record({ key: value, n: fc.nat(1999) }), { maxLength: 149, size: 'max' })
    let changes = 0
    for (const pattern of PATTERNS) {
      const isSame = async (rows: readonly object[]) => {
        const content = JSON.stringify(rows)
        const request: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content }] }
        const one = await maskRequest(request, masking(pattern, false))
        const many = await maskRequest(request, masking(pattern, true))
        expect(many, pattern).to.deep.equal(one)
        changes += one.request === request ? 0 : 1
      }
      await fc.assert(fc.asyncProperty(rows, isSame), inRounds(5))
    }
    expect(changes).to.be.above(PATTERNS.length * 2)
  })
})
