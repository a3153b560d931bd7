import { lazy } from '../util/lazy.ts'

const segmenter = lazy(() => new Intl.Segmenter('en', { granularity: 'grapheme' }))

const REGIONAL_INDICATORS = /(?:[\u{1f1e6}-\u{1f1ff}])+$/u

/** UTF-16 units in which nearly every grapheme cluster ends. */
const WINDOW = 64

/** ASCII, of which only CR and LF form a cluster together. */
function isPlain(text: string, index: number): boolean {
  return text.charCodeAt(index) < 0x80 && text[index] !== '\r'
}

/** The index after the extended grapheme cluster that starts at `from`, for `\X`. */
export function endOfGrapheme(text: string, from: number): number {
  if (isPlain(text, from) && (from + 1 === text.length || isPlain(text, from + 1))) return from + 1
  // A flag is two regional indicators, counted from the first one of a row.
  const before = REGIONAL_INDICATORS.exec(text.slice(Math.max(0, from - WINDOW), from))?.[0].length ?? 0
  if (before % 4 === 2 && /^[\u{1f1e6}-\u{1f1ff}]{2}/u.test(text.slice(from, from + 4))) return from + 2
  for (let length = WINDOW; ; length *= 4) {
    const slice = text.slice(from, from + length)
    const [first] = segmenter().segment(slice)
    const end = first?.segment.length ?? 0
    if (end < slice.length || from + length >= text.length) return from + end
  }
}
