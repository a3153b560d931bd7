import { expect } from 'chai'
import { readLines } from '../../../../plugins/feedback/read-lines.ts'

async function linesOf(pieces: readonly string[], maxChars = 10) {
  async function* arrive() {
    yield* pieces
  }
  const lines: unknown[] = []
  for await (const { number, text } of readLines(arrive(), maxChars)) lines.push([number, text])
  return lines
}

describe('readLines', () => {
  it('joins pieces, and numbers lines', async () => {
    expect(await linesOf(['a', 'b\nc', '\n\n', 'd'])).to.deep.equal([
      [1, 'ab'],
      [2, 'c'],
      [3, ''],
      [4, 'd'],
    ])
    expect(await linesOf(['a\n'])).to.deep.equal([[1, 'a']])
    expect(await linesOf([])).to.deep.equal([])
  })

  it('skips a line that is too long, and goes on with the next', async () => {
    expect(await linesOf(['12345', '678901', '2\nab', '\n', '12345678901'])).to.deep.equal([
      [1, undefined],
      [2, 'ab'],
      [3, undefined],
    ])
  })
})
