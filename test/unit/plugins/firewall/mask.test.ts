import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { literalReplacement } from '../../../../core/pcre/replacement.ts'
import { type Masking, maskRequest } from '../../../../plugins/firewall/mask.ts'
import { compiled, patternRun } from '../../../support/pattern-run.ts'
import { createRandom } from '../../../support/random.ts'

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
    const { pick, integer } = createRandom(22)
    let changes = 0
    for (const pattern of PATTERNS) {
      for (let round = 0; round < 5; round++) {
        const value = () => Array.from({ length: integer(6) }, () => pick(PIECES)).join('')
        const rows = Array.from({ length: integer(150) }, () => ({ key: value(), n: integer(2000) }))
        const content = JSON.stringify(rows)
        const request: ChatRequest = { messages: [{ role: 'tool', tool_call_id: 'c', content }] }
        const one = await maskRequest(request, masking(pattern, false))
        const many = await maskRequest(request, masking(pattern, true))
        expect(many, `${pattern} in ${content}`).to.deep.equal(one)
        changes += one.request === request ? 0 : 1
      }
    }
    expect(changes).to.be.above(PATTERNS.length * 2)
  })
})
