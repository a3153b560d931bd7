import { lazy } from '../util/lazy.ts'
import { encodeTexts, isWorthJoining, joinTexts } from './automaton.ts'
import { indexTexts, type TextIndex } from './text-index.ts'

/** Texts in the forms that a search of pattern sets needs. Each is made once, when it is needed. */
export interface SearchedTexts {
  readonly texts: readonly string[]
  /** In characters. */
  readonly length: number
  /** Whether `joined` differs from `separate`. */
  readonly isJoined: boolean
  /** In UTF-8; many short texts as one. */
  readonly joined: () => readonly Buffer[]
  /** In UTF-8. */
  readonly separate: () => readonly Buffer[]
  /** Undefined for long texts, which have nearly every run of four bytes. */
  readonly index: () => TextIndex | undefined
}

const MAX_INDEXED_LENGTH = 256_000

let last: SearchedTexts | undefined

/**
 * Prepares texts for a search. The rule sets of policies and of the user search the same texts one after the
 * other, so the last texts are kept.
 */
export function prepareTexts(texts: readonly string[]): SearchedTexts {
  if (last !== undefined && isSameList(last.texts, texts)) return last
  let length = 0
  for (const text of texts) length += text.length
  const separate = lazy(() => encodeTexts(texts))
  const isJoined = isWorthJoining(texts)
  const joined = isJoined ? lazy(() => encodeTexts(joinTexts(texts))) : separate
  const isIndexed = length <= MAX_INDEXED_LENGTH
  const index = lazy(() => (isIndexed ? indexTexts(joined()) : undefined))
  const prepared: SearchedTexts = { texts, length, isJoined, joined, separate, index }
  if (isIndexed) last = prepared
  return prepared
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, position) => text === b[position])
}
