import { decodeGaps, writeGaps } from './encode-gaps.ts'
import { BUCKETS, NUMBER_NAMES, type PromptFeatures } from './features.ts'

/** The first byte of encoded features. A change of what features mean changes it. */
const VERSION = 1
const GAPS_START = 1 + 4 * NUMBER_NAMES.length

// Reused for every prompt, so that encoding allocates only its result.
const sorted = new Uint16Array(BUCKETS)
const encoded = new Uint8Array(GAPS_START + 3 * BUCKETS)
const encodedView = new DataView(encoded.buffer)

/** Encodes features: a version, ten floats, and the gaps between ascending buckets. */
export function encodeFeatures({ indices, numbers }: PromptFeatures): Uint8Array {
  sorted.set(indices)
  const end = writeGaps(sorted.subarray(0, indices.length).sort(), encoded, GAPS_START)
  encoded[0] = VERSION
  for (let at = 0; at < NUMBER_NAMES.length; at++) encodedView.setFloat32(1 + 4 * at, numbers[at] ?? 0, true)
  return encoded.slice(0, end)
}

/** Throws an `EncodedFeaturesError` on bytes that `encodeFeatures` has not made. */
export function decodeFeatures(bytes: Uint8Array): PromptFeatures {
  if (bytes[0] !== VERSION || bytes.length < GAPS_START) {
    throw new EncodedFeaturesError(`Prompt features have an unknown format (${bytes[0] ?? 'empty'}).`)
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const numbers = Float32Array.from(NUMBER_NAMES, (_, at) => view.getFloat32(1 + 4 * at, true))
  const indices = decodeGaps(bytes.subarray(GAPS_START))
  if (indices === undefined || !numbers.every(Number.isFinite)) {
    throw new EncodedFeaturesError('Prompt features are damaged.')
  }
  return { indices, numbers }
}

export class EncodedFeaturesError extends Error {}
