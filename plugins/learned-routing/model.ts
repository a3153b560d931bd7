import { crc32 } from 'node:zlib'
import { decodeGaps, encodeGaps } from './encode-gaps.ts'
import { BUCKETS, NUMBER_NAMES, type PromptFeatures } from './features.ts'
import { fromFloat16, toFloat16 } from './float16.ts'

/** A logistic regression of the probability that a model's answer to a prompt is good. */
export interface ModelWeights {
  readonly bias: number
  /** By bucket. */
  readonly words: Float32Array
  /** By `NUMBER_NAMES`. */
  readonly numbers: Float32Array
}

/** The value of each bucket of a prompt, so that long prompts weigh no more than short ones. */
export function wordValue(bucketCount: number): number {
  return bucketCount === 0 ? 0 : 1 / Math.sqrt(bucketCount)
}

/** Returns the probability of a good answer, 0 to 1. */
export function predict({ bias, words, numbers }: ModelWeights, features: PromptFeatures): number {
  const { indices } = features
  let sum = 0
  for (let at = 0; at < indices.length; at++) sum += words[indices[at] as number] as number
  sum = bias + sum * wordValue(indices.length)
  for (let at = 0; at < numbers.length; at++)
    sum += (numbers[at] as number) * (features.numbers[at] as number)
  return 1 / (1 + Math.exp(-sum))
}

// Version, CRC-32 of all that follows, bias, numbers, count of words; then their weights and buckets.
const VERSION = 1
const BIAS_AT = 5
const NUMBERS_AT = BIAS_AT + 4
const COUNT_AT = NUMBERS_AT + 4 * NUMBER_NAMES.length
const WORDS_AT = COUNT_AT + 4

/** Weights that were changed, or that another version of this software made. */
export class WeightsError extends Error {}

/**
 * Encodes weights as base64: those of words in half precision, and only those that are not 0. Of more than
 * `maxWords`, those with the least effect are left out.
 */
export function encodeWeights({ bias, words, numbers }: ModelWeights, maxWords = BUCKETS): string {
  const buckets = listBuckets(words, maxWords)
  const gaps = encodeGaps(buckets)
  const bytes = Buffer.alloc(WORDS_AT + 2 * buckets.length + gaps.length)
  bytes.writeFloatLE(bias, BIAS_AT)
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, NUMBERS_AT + 4 * at)
  bytes.writeUInt32LE(buckets.length, COUNT_AT)
  for (const [at, bucket] of buckets.entries()) {
    bytes.writeUInt16LE(toFloat16(words[bucket] as number), WORDS_AT + 2 * at)
  }
  bytes.set(gaps, WORDS_AT + 2 * buckets.length)
  bytes[0] = VERSION
  bytes.writeUInt32LE(crc32(bytes.subarray(BIAS_AT)), 1)
  return bytes.toString('base64')
}

/** Throws a `WeightsError` on text that `encodeWeights` has not made. */
export function decodeWeights(text: string): ModelWeights {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length < WORDS_AT || bytes[0] !== VERSION)
    throw new WeightsError('The weights have an unknown format.')
  if (bytes.readUInt32LE(1) !== crc32(bytes.subarray(BIAS_AT)))
    throw new WeightsError('The weights are damaged.')
  const count = bytes.readUInt32LE(COUNT_AT)
  const buckets = decodeGaps(bytes.subarray(WORDS_AT + 2 * count))
  const bias = bytes.readFloatLE(BIAS_AT)
  const numbers = Float32Array.from(NUMBER_NAMES, (_, at) => bytes.readFloatLE(NUMBERS_AT + 4 * at))
  const words = new Float32Array(BUCKETS)
  let isUsable = buckets?.length === count && Number.isFinite(bias) && numbers.every(Number.isFinite)
  for (let at = 0; isUsable && at < count; at++) {
    const weight = fromFloat16(bytes.readUInt16LE(WORDS_AT + 2 * at))
    isUsable = Number.isFinite(weight)
    words[buckets?.[at] as number] = weight
  }
  if (!isUsable) throw new WeightsError('The weights are damaged.')
  return { bias, words, numbers }
}

/** The buckets with the largest weights, ascending. */
function listBuckets(words: Float32Array, maxWords: number): Uint16Array {
  const used = Uint16Array.from(words.keys()).filter(
    (bucket) => toFloat16(words[bucket] as number) % 0x8000 !== 0,
  )
  if (used.length <= maxWords) return used
  const sizeOf = (bucket: number) => Math.abs(words[bucket] as number)
  return used
    .sort((a, b) => sizeOf(b) - sizeOf(a) || a - b)
    .slice(0, maxWords)
    .sort()
}
