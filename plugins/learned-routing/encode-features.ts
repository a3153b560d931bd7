import { NUMBER_NAMES, type PromptFeatures } from './features.ts'

/** The first byte of encoded features. A change of what features mean changes it. */
const VERSION = 1
const NUMBERS_BYTES = NUMBER_NAMES.length * 4

/** Encodes features: a version, ten floats, and the gaps between ascending buckets as 7-bit groups. */
export function encodeFeatures({ indices, numbers }: PromptFeatures): Uint8Array {
  const sorted = indices.slice().sort()
  const bytes = new Uint8Array(1 + NUMBERS_BYTES + 3 * sorted.length)
  bytes[0] = VERSION
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < NUMBER_NAMES.length; at++) view.setFloat32(1 + 4 * at, numbers[at] ?? 0, true)
  let end = 1 + NUMBERS_BYTES
  let previous = -1
  for (const index of sorted) {
    let gap = index - previous - 1
    previous = index
    for (; gap > 127; gap >>>= 7) bytes[end++] = (gap & 127) | 128
    bytes[end++] = gap
  }
  return bytes.slice(0, end)
}

/** Throws an `EncodedFeaturesError` on bytes that `encodeFeatures` has not made. */
export function decodeFeatures(bytes: Uint8Array): PromptFeatures {
  if (bytes[0] !== VERSION || bytes.length < 1 + NUMBERS_BYTES) {
    throw new EncodedFeaturesError(`Prompt features have an unknown format (${bytes[0] ?? 'empty'}).`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers = Float32Array.from(NUMBER_NAMES, (_, at) => view.getFloat32(1 + 4 * at, true))
  const indices = new Uint16Array(bytes.length - 1 - NUMBERS_BYTES)
  let count = 0
  let previous = -1
  for (let at = 1 + NUMBERS_BYTES; at < bytes.length; ) {
    let gap = 0
    for (let shift = 0, more = true; more; shift += 7) {
      const byte = bytes[at++]
      if (byte === undefined || shift > 14) throw new EncodedFeaturesError('Prompt features are damaged.')
      gap |= (byte & 127) << shift
      more = byte > 127
    }
    previous += gap + 1
    if (previous > 65_535) throw new EncodedFeaturesError('Prompt features are damaged.')
    indices[count++] = previous
  }
  if (!numbers.every(Number.isFinite)) throw new EncodedFeaturesError('Prompt features are damaged.')
  return { indices: indices.slice(0, count), numbers }
}

export class EncodedFeaturesError extends Error {}
