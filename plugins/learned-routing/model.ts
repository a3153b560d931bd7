import { crc32 } from 'node:zlib'
import { createRandom, type Random } from '../../core/util/random.ts'
import { decodeGaps, encodeGaps, fromFloat16, toFloat16 } from './encode-numbers.ts'
import { BUCKETS, NUMBER_NAMES, type PromptFeatures } from './features.ts'

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

/** A sparse matrix by rows: row `r` has the entries from `starts[r]` up to `starts[r + 1]`. */
export interface SparseRows {
  readonly starts: Uint32Array
  readonly columns: Uint32Array
  readonly values: Float32Array
  readonly columnCount: number
}

interface LogisticProblem {
  readonly rows: SparseRows
  /** By row, 0 to 1. A label between is a row of each kind, with shares of the weight. */
  readonly labels: Float64Array
  /** By row. */
  readonly weights: Float64Array
  /** By column: L2 penalties, half of which times the squared coefficient is added to the loss. */
  readonly penalties: Float64Array
}

const MAX_EPOCHS = 1000
/** Ends when an epoch changes the probabilities of the rows by less than this (root mean square). */
const TOLERANCE = 1e-4
/** Keeps a column without a penalty near its coefficient of the epoch before. */
const PROXIMAL_PENALTY = 10

/**
 * Returns the coefficients with the least weighted log loss plus L2 penalty, by dual coordinate ascent: one
 * row after the other gets the probability that is consistent with all others. The problem is convex, so the
 * result depends on nothing else. See docs/decisions/learned-routing.md, "One logistic regression per model".
 */
export function fitLogisticRegression(
  { rows, labels, weights, penalties }: LogisticProblem,
  { tolerance = TOLERANCE }: { readonly tolerance?: number } = {},
): Float64Array {
  const { starts, columns } = rows
  // In units in which all penalties are 1, an error of a row changes all coefficients alike.
  const units = penalties.map((penalty) => 1 / Math.sqrt(penalty === 0 ? PROXIMAL_PENALTY : penalty))
  const values = rows.values.map((value, entry) => value * (units[columns[entry] as number] as number))
  const coefficients = new Float64Array(rows.columnCount)
  const probabilities = labels.slice()
  const lengths = sumSquares(starts, values)
  const centers = new Float64Array(rows.columnCount)
  const freeColumns = [...penalties.keys()].filter((column) => penalties[column] === 0)
  const shiftOf = (column: number) =>
    Math.abs((coefficients[column] as number) - (centers[column] as number)) * (units[column] as number)
  const order = Uint32Array.from(labels.keys())
  const random = createRandom(1)
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  for (let epoch = 0; epoch < MAX_EPOCHS; epoch++) {
    shuffle(order, random)
    let changed = 0
    for (let visit = 0; visit < order.length; visit++) {
      const row = order[visit] as number
      const [start, end] = [starts[row] as number, starts[row + 1] as number]
      let sum = 0
      for (let entry = start; entry < end; entry++)
        sum += (values[entry] as number) * (coefficients[columns[entry] as number] as number)
      const weight = weights[row] as number
      const probability = findProbability(
        sum,
        probabilities[row] as number,
        weight * (lengths[row] as number),
      )
      const change = probability - (probabilities[row] as number)
      probabilities[row] = probability
      changed += weight * change * change
      const step = -weight * change
      for (let entry = start; entry < end; entry++) {
        const column = columns[entry] as number
        coefficients[column] = (coefficients[column] as number) + step * (values[entry] as number)
      }
    }
    if (changed <= tolerance ** 2 * whole && freeColumns.every((column) => shiftOf(column) <= tolerance))
      break
    for (const column of freeColumns) {
      const coefficient = coefficients[column] as number
      coefficients[column] = 2 * coefficient - (centers[column] as number)
      centers[column] = coefficient
    }
  }
  return coefficients.map((coefficient, column) => coefficient * (units[column] as number))
}

function sumSquares(starts: Uint32Array, values: Float32Array): Float64Array {
  const sums = new Float64Array(starts.length - 1)
  for (let row = 0; row < sums.length; row++) {
    let sum = 0
    for (let entry = starts[row] as number; entry < (starts[row + 1] as number); entry++)
      sum += (values[entry] as number) ** 2
    sums[row] = sum
  }
  return sums
}

const MAX_NEWTON_STEPS = 50
const NEWTON_TOLERANCE = 1e-10

/**
 * Returns the probability of a row that equals the logistic function of its log odds. These are `sum` at the
 * present probability, and fall by `effect` for each unit that the probability rises. A step of Newton's
 * method that leaves the known range of the solution, as happens for large effects, halves it instead.
 */
function findProbability(sum: number, present: number, effect: number): number {
  const goal = sum + effect * present
  let low = goal - effect
  let high = goal
  let odds = sum
  let probability = toProbability(odds)
  for (let step = 0; step < MAX_NEWTON_STEPS; step++) {
    const excess = odds + effect * probability - goal
    if (Math.abs(excess) < NEWTON_TOLERANCE) break
    if (excess > 0) high = Math.min(high, odds)
    else low = Math.max(low, odds)
    odds -= excess / (1 + effect * probability * (1 - probability))
    if (odds < low || odds > high) odds = (low + high) / 2
    probability = toProbability(odds)
  }
  return probability
}

function toProbability(odds: number): number {
  return 1 / (1 + Math.exp(-odds))
}

function shuffle(order: Uint32Array, random: Random): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = random.integer(at + 1)
    const row = order[at] as number
    order[at] = order[other] as number
    order[other] = row
  }
}

/** A rating of one model. */
export interface FittedRow {
  readonly features: PromptFeatures
  readonly score: number
  readonly weight: number
}

// Chosen by the benchmark: a number has an effect on every prompt, so it needs more evidence than a word.
const WORD_PENALTY = 1
const NUMBER_PENALTY = 30

/** A good and a bad rating of half a weight, so that a model without bad ratings is not infinitely good. */
const PRIOR_SCORES = [0, 1]
const PRIOR_WEIGHT = 0.5

const NUMBERS = NUMBER_NAMES.length

/** Fits the weights of one model to its ratings. */
export function fitModel(rows: readonly FittedRow[]): ModelWeights {
  const { means, deviations } = describeNumbers(rows)
  const { columnOf, buckets } = numberColumns(rows)
  const bias = buckets.length + NUMBERS
  const entryCount = rows.reduce((sum, { features }) => sum + features.indices.length + NUMBERS + 1, 0)
  const starts = new Uint32Array(rows.length + PRIOR_SCORES.length + 1)
  const columns = new Uint32Array(entryCount + PRIOR_SCORES.length)
  const values = new Float32Array(entryCount + PRIOR_SCORES.length)
  let end = 0
  const add = (column: number, value: number) => {
    columns[end] = column
    values[end++] = value
  }
  for (const [row, { features }] of rows.entries()) {
    const value = wordValue(features.indices.length)
    for (const bucket of features.indices) add(columnOf[bucket] as number, value)
    for (let at = 0; at < NUMBERS; at++) {
      add(
        buckets.length + at,
        ((features.numbers[at] as number) - (means[at] as number)) / (deviations[at] as number),
      )
    }
    add(bias, 1)
    starts[row + 1] = end
  }
  for (const index of PRIOR_SCORES.keys()) {
    add(bias, 1)
    starts[rows.length + index + 1] = end
  }
  const penalties = new Float64Array(bias + 1).fill(WORD_PENALTY)
  penalties.fill(NUMBER_PENALTY, buckets.length)
  penalties[bias] = 0
  const coefficients = fitLogisticRegression({
    rows: { starts, columns, values, columnCount: bias + 1 },
    labels: Float64Array.from([...rows.map(({ score }) => score), ...PRIOR_SCORES]),
    weights: Float64Array.from([
      ...rows.map(({ weight }) => weight),
      ...PRIOR_SCORES.map(() => PRIOR_WEIGHT),
    ]),
    penalties,
  })
  const words = new Float32Array(BUCKETS)
  for (const [column, bucket] of buckets.entries()) words[bucket] = coefficients[column] as number
  // The numbers were standardized for fitting; the weights apply to them as they are.
  const numbers = Float32Array.from(
    means,
    (_, at) => (coefficients[buckets.length + at] as number) / (deviations[at] as number),
  )
  const shift = means.reduce((sum, mean, at) => sum + mean * (numbers[at] as number), 0)
  return { bias: (coefficients[bias] as number) - shift, words, numbers }
}

/** Gives the buckets that occur columns of their own, so that few ratings take little time. */
function numberColumns(rows: readonly FittedRow[]) {
  const columnOf = new Int32Array(BUCKETS).fill(-1)
  const buckets: number[] = []
  for (const { features } of rows) {
    for (const bucket of features.indices) {
      if (columnOf[bucket] === -1) columnOf[bucket] = buckets.push(bucket) - 1
    }
  }
  return { columnOf, buckets }
}

function describeNumbers(rows: readonly FittedRow[]) {
  const count = Math.max(1, rows.length)
  const means = new Float64Array(NUMBERS)
  for (const { features } of rows) {
    for (let at = 0; at < NUMBERS; at++)
      means[at] = (means[at] as number) + (features.numbers[at] as number) / count
  }
  const variances = new Float64Array(NUMBERS)
  for (const { features } of rows) {
    for (let at = 0; at < NUMBERS; at++) {
      const difference = (features.numbers[at] as number) - (means[at] as number)
      variances[at] = (variances[at] as number) + difference ** 2 / count
    }
  }
  // A number that never differs says nothing.
  const deviations = variances.map((variance) => (variance > 1e-9 ? Math.sqrt(variance) : 1))
  return { means, deviations }
}
