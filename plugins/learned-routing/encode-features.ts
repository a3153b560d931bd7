import { decodeGaps, encodeGaps } from './encode-gaps.ts'
import { NUMBER_NAMES, type PromptFeatures } from './features.ts'

/** The first byte of encoded features. A change of what features mean changes it. */
const VERSION = 1
const GAPS_START = 1 + 4 * NUMBER_NAMES.length

/** Encodes features: a version, ten floats, and the gaps between ascending buckets. */
export function encodeFeatures({ indices, numbers }: PromptFeatures): Uint8Array {
  const gaps = encodeGaps(indices.slice().sort())
  const bytes = new Uint8Array(GAPS_START + gaps.length)
  bytes[0] = VERSION
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < NUMBER_NAMES.length; at++) view.setFloat32(1 + 4 * at, numbers[at] ?? 0, true)
  bytes.set(gaps, GAPS_START)
  return bytes
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
