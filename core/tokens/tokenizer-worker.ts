import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { serveThread } from '../threads/thread.ts'
import type { TokenizerMethods } from './tokenizer.ts'

// Thread that counts tokens exactly: the vocabulary takes 70 MB, and a megabyte of text half a second.

/** Words without an end would take time that grows with the square of their length. */
const MAX_PIECE_CHARACTERS = 1024

/** Names of special tokens in a text are text, as for the providers. */
const options = { disallowedSpecial: new Set<string>() }

serveThread<Record<never, never>, TokenizerMethods>({
  count: (texts) => texts.reduce((tokens, text) => tokens + countText(text), 0),
})

function countText(text: string): number {
  let tokens = 0
  for (let start = 0; start < text.length; ) {
    const end = findPieceEnd(text, start)
    tokens += countTokens(text.slice(start, end), options)
    start = end
  }
  return tokens
}

/** A piece ends before a space, where a token begins, or else not within a pair of surrogates. */
function findPieceEnd(text: string, start: number): number {
  const limit = start + MAX_PIECE_CHARACTERS
  if (limit >= text.length) return text.length
  const space = text.lastIndexOf(' ', limit)
  if (space > start) return space
  return (text.charCodeAt(limit) & 0xfc00) === 0xdc00 ? limit - 1 : limit
}
