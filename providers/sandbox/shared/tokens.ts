const BYTES_PER_TOKEN = 4
const MIN_PIECES = 3
const MAX_PIECES = 100

/** Counts tokens as the sandbox defines them: UTF-8 bytes divided by four, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** Returns the longest prefix that fits in `count` tokens, without splitting a character. */
export function truncateToTokens(text: string, count: number): string {
  // UTF-8 has at most three bytes per UTF-16 code unit.
  if (text.length * 3 <= count * BYTES_PER_TOKEN) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(count * BYTES_PER_TOKEN))
  return text.slice(0, read)
}

/**
 * Splits a text into pieces for streaming: at word boundaries, or at every character if that yields fewer
 * than three pieces. Longer texts get larger pieces, never more than 100.
 */
export function splitText(text: string): readonly string[] {
  const words = text.match(/\s*(?:[\p{L}\p{N}]+|[^\s\p{L}\p{N}]+)|\s+/gu) ?? []
  return mergePieces(words.length < MIN_PIECES ? Array.from(text) : words)
}

function mergePieces(pieces: readonly string[]): readonly string[] {
  const size = Math.ceil(pieces.length / MAX_PIECES)
  if (size <= 1) return pieces
  const merged: string[] = []
  for (let start = 0; start < pieces.length; start += size) {
    merged.push(pieces.slice(start, start + size).join(''))
  }
  return merged
}
