/** The checksum of the empty text. */
export const EMPTY_CHECKSUM = 0x811c9dc5

/** Continues a checksum (FNV-1a, 32 bits) with more text. Finds changes of rules, not those of attackers. */
export function addToChecksum(checksum: number, text: string): number {
  let sum = checksum
  for (let index = 0; index < text.length; index++) {
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193)
  }
  return sum >>> 0
}
