/** The sizes that streams are cut at in tests: in the middle of characters, line ends and field names. */
export const CUTS = [1, 2, 3, 5, 7, 1000] as const

/** The bytes of a text (UTF-8), in pieces of `size`. */
export function cutBytes(text: string | Uint8Array, size: number): Uint8Array[] {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, piece) =>
    bytes.subarray(piece * size, (piece + 1) * size),
  )
}
