const BYTES_PER_TOKEN = 4
const MIN_PIECES = 3
const MAX_PIECES = 100

/** The sandbox's token count: UTF-8 bytes divided by four, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** As much of the text's start as fits in `count` tokens, cut between characters. */
export function truncateToTokens(text: string, count: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(count * BYTES_PER_TOKEN))
  return text.slice(0, read)
}

/** Splits a text for streaming: by words, by characters where that gives too few pieces, and never into too many. */
export function splitText(text: string): readonly string[] {
  const words = text.match(/\s*(?:[\p{L}\p{N}]+|[^\s\p{L}\p{N}]+)|\s+/gu) ?? []
  return group(words.length < MIN_PIECES ? Array.from(text) : words)
}

function group(pieces: readonly string[]): readonly string[] {
  const size = Math.ceil(pieces.length / MAX_PIECES)
  if (size <= 1) return pieces
  const groups: string[] = []
  for (let start = 0; start < pieces.length; start += size) {
    groups.push(pieces.slice(start, start + size).join(''))
  }
  return groups
}
