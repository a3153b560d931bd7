const float = new Float32Array(1)
const bits = new Uint32Array(float.buffer)

/** Returns the bits of the nearest half-precision number (IEEE 754 binary16). Node 20 has no Float16Array. */
export function toFloat16(value: number): number {
  float[0] = value
  const single = bits[0] as number
  const sign = (single >>> 16) & 0x8000
  const magnitude = Math.abs(float[0])
  if (Number.isNaN(value)) return sign | 0x7e00
  if (magnitude >= 65_520) return sign | 0x7c00
  // Below the normal numbers, a half is a multiple of 2^-24.
  if (magnitude < 2 ** -14) return sign | roundToEven(magnitude * 2 ** 24)
  const exponent = ((single >>> 23) & 0xff) - 112
  // A mantissa that is rounded up to 1,024 carries into the exponent, as it should.
  return sign | ((exponent << 10) + roundToEven((single & 0x7fffff) / 2 ** 13))
}

export function fromFloat16(half: number): number {
  const sign = (half & 0x8000) === 0 ? 1 : -1
  const exponent = (half >>> 10) & 0x1f
  const mantissa = half & 0x3ff
  if (exponent === 0x1f) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN
  if (exponent === 0) return sign * mantissa * 2 ** -24
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15)
}

function roundToEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}

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
