import type { AssertionKind } from './ast.ts'

/** Whether an assertion is true at a position of a text. */
export function isAssertionTrue(
  kind: AssertionKind,
  text: string,
  position: number,
  searchStart: number,
): boolean {
  switch (kind) {
    case 'text-start':
      return position === 0
    case 'text-end':
      return position === text.length
    case 'text-end-or-newline':
      return position === text.length || (position === text.length - 1 && text[position] === '\n')
    case 'line-start':
      return position === 0 || (text[position - 1] === '\n' && position < text.length)
    case 'line-end':
      return position === text.length || text[position] === '\n'
    case 'search-start':
      return position === searchStart
    case 'word-boundary':
      return isBoundary(WORD, text, position)
    case 'not-word-boundary':
      return !isBoundary(WORD, text, position)
    case 'unicode-word-boundary':
      return isBoundary(UNICODE_WORD, text, position)
    case 'not-unicode-word-boundary':
      return !isBoundary(UNICODE_WORD, text, position)
    default:
      return kind satisfies never
  }
}

const WORD = /^[0-9A-Za-z_]$/
const UNICODE_WORD = /^[\p{L}\p{N}_]$/u

function isBoundary(word: RegExp, text: string, position: number): boolean {
  const after = String.fromCodePoint(text.codePointAt(position) ?? 0)
  const pair = text.slice(Math.max(0, position - 2), position)
  const before = (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1)
  return word.test(before) !== word.test(after)
}
