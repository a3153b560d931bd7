/** Encodes ascending distinct numbers as the gaps between them, in groups of 7 bits. */
export function encodeGaps(ascending: Uint16Array): Uint8Array {
  const bytes = new Uint8Array(3 * ascending.length)
  return bytes.slice(0, writeGaps(ascending, bytes, 0))
}

/** As `encodeGaps`, into an array that has room for three bytes per number. Returns where they end. */
export function writeGaps(ascending: Uint16Array, bytes: Uint8Array, start: number): number {
  let end = start
  let previous = -1
  for (let at = 0; at < ascending.length; at++) {
    const number = ascending[at] as number
    let gap = number - previous - 1
    previous = number
    for (; gap > 127; gap >>>= 7) bytes[end++] = (gap & 127) | 128
    bytes[end++] = gap
  }
  return end
}

/** Returns undefined if the bytes are no encoded gaps. */
export function decodeGaps(bytes: Uint8Array): Uint16Array | undefined {
  const numbers = new Uint16Array(bytes.length)
  let count = 0
  let previous = -1
  for (let at = 0; at < bytes.length; ) {
    let gap = 0
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = bytes[at++]
      if (byte === undefined || shift > 14) return undefined
      gap |= (byte & 127) << shift
      more = byte > 127
    }
    previous += gap + 1
    if (previous > 65_535) return undefined
    numbers[count++] = previous
  }
  return numbers.slice(0, count)
}
