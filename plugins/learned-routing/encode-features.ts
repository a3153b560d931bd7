import { decodeGaps, writeGaps } from './encode-gaps.ts'
import { BUCKETS, NUMBER_NAMES, type PromptFeatures } from './features.ts'

/** The first byte of encoded features. A change of what features mean changes it. */
const VERSION = 1
const GAPS_START = 1 + 4 * NUMBER_NAMES.length

// Reused for every prompt, so that encoding allocates only its result.
const encoded = Buffer.alloc(GAPS_START + 3 * BUCKETS)
const encodedView = new DataView(encoded.buffer, encoded.byteOffset, encoded.length)

/** Encodes features: a version, ten floats, and the gaps between the buckets. */
export function encodeFeatures(features: PromptFeatures): Uint8Array {
  return new Uint8Array(encoded.subarray(0, writeFeatures(features)))
}

/** As `encodeFeatures`, as base64: a text is cheaper to create and to collect than an array of bytes. */
export function encodeFeaturesAsText(features: PromptFeatures): string {
  return encoded.toString('base64', 0, writeFeatures(features))
}

/** Fills `encoded`, and returns where the features end. */
function writeFeatures({ indices, numbers }: PromptFeatures): number {
  encoded[0] = VERSION
  for (let at = 0; at < NUMBER_NAMES.length; at++) encodedView.setFloat32(1 + 4 * at, numbers[at] ?? 0, true)
  return writeGaps(indices, encoded, GAPS_START)
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
