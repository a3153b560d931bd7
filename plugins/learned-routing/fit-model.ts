import { BUCKETS, NUMBER_NAMES, type PromptFeatures } from './features.ts'
import { fitLogisticRegression } from './logistic-regression.ts'
import { type ModelWeights, wordValue } from './model.ts'

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
