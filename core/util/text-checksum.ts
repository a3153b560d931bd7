/** The checksum of the empty text. */
export const EMPTY_CHECKSUM = 0x811c9dc5

/**
 * Continues a checksum (FNV-1a, 32 bits) with a text, or with its characters from `start` to `end`. Finds
 * changes of rules, not those of attackers.
 */
export function addToChecksum(checksum: number, text: string, start = 0, end = text.length): number {
  let sum = checksum
  const last = Math.min(end, text.length)
  for (let index = start; index < last; index++) {
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193)
  }
  return sum >>> 0
}
