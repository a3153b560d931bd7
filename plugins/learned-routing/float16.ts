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
