import { lazy } from '../util/lazy.ts'
import { encodeTexts, isWorthJoining, joinTexts } from './automaton.ts'
import { LiteralSearch } from './literal-search.ts'
import { indexTexts, type TextIndex } from './text-index.ts'

/** Texts in the forms that a search of pattern sets needs. Each is made once, when it is needed. */
export interface SearchedTexts {
  readonly texts: readonly string[]
  /** In characters. */
  readonly length: number
  /** Whether `joined` differs from `separate`. */
  readonly isJoined: boolean
  /** In UTF-8; many short texts as one. Valid until other texts are prepared. */
  readonly joined: () => readonly Buffer[]
  /** In UTF-8. Valid until other texts are prepared. */
  readonly separate: () => readonly Buffer[]
  /** Undefined for long texts, which have nearly every run of four bytes. */
  readonly index: () => TextIndex | undefined
  readonly literals: () => LiteralSearch
}

const MAX_INDEXED_LENGTH = 256_000

/** Texts begin at multiples of it, because the index reads four bytes at once. */
const ALIGNMENT = 4

/**
 * For the texts of one search: new memory takes five times as long to fill. A character has at most three
 * bytes, and texts are there twice, separate and joined.
 */
const memory = lazy(() => Buffer.allocUnsafeSlow((2 * 3 + 2 * ALIGNMENT) * MAX_INDEXED_LENGTH))

let last: SearchedTexts | undefined

/**
 * Prepares texts for a search. The rule sets of policies and of the user search the same texts one after the
 * other, so the last texts are kept.
 */
export function prepareTexts(texts: readonly string[]): SearchedTexts {
  if (last !== undefined && isSameList(last.texts, texts)) return last
  let length = 0
  for (const text of texts) length += text.length
  const isIndexed = length <= MAX_INDEXED_LENGTH && texts.length <= MAX_INDEXED_LENGTH
  const encode = isIndexed ? createEncoder() : encodeTexts
  const separate = lazy(() => encode(texts))
  const isJoined = isWorthJoining(texts)
  const joined = isJoined ? lazy(() => encode(joinTexts(texts))) : separate
  const index = lazy(() => (isIndexed ? indexTexts(joined()) : undefined))
  const literals = lazy(() => new LiteralSearch(texts))
  const prepared: SearchedTexts = { texts, length, isJoined, joined, separate, index, literals }
  if (isIndexed) last = prepared
  return prepared
}

/** Encodes texts into the shared memory. */
function createEncoder(): typeof encodeTexts {
  let used = 0
  return (texts) =>
    texts.map((text) => {
      const end = used + memory().write(text, used)
      const encoded = memory().subarray(used, end)
      used = Math.ceil(end / ALIGNMENT) * ALIGNMENT
      return encoded
    })
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, position) => text === b[position])
}
