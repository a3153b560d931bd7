import { BUCKETS, type PromptFeatures } from './features.ts'
import { type ModelWeights, wordValue } from './model.ts'

/** Models whose sums are computed together, in registers. */
const LANES = 4

// Reused for every prompt: the rows of its buckets.
const rows = new Int32Array(BUCKETS)

/**
 * The weights of several models, those of a bucket side by side, without the buckets that no model has a
 * weight for: a prompt costs one cache miss per bucket with weights instead of one per bucket and model.
 */
export class ModelTable {
  readonly #columns: ReadonlyMap<string, number>
  readonly #biases: Float64Array
  /** The number of models, rounded up to a multiple of `LANES`. */
  readonly #width: number
  /** One bit per bucket that has a row, and how many have one before each group of 32. */
  readonly #hasRow = new Int32Array(BUCKETS / 32)
  readonly #rowsBefore = new Uint16Array(BUCKETS / 32)
  /** By row, then by model. */
  readonly #words: Float32Array
  /** By model, then by number. */
  readonly #numbers: readonly Float32Array[]

  constructor(models: readonly (readonly [id: string, weights: ModelWeights])[]) {
    this.#width = Math.ceil(models.length / LANES) * LANES
    this.#columns = new Map(models.map(([id], column) => [id, column]))
    this.#biases = Float64Array.from(models, ([, { bias }]) => bias)
    this.#numbers = models.map(([, { numbers }]) => numbers)
    for (const [, { words }] of models) this.#addRows(words)
    let count = 0
    for (let group = 0; group < this.#hasRow.length; group++) {
      this.#rowsBefore[group] = count
      count += countBits(this.#hasRow[group] as number)
    }
    this.#words = new Float32Array(count * this.#width)
    for (const [column, [, { words }]] of models.entries()) this.#fillColumn(column, words)
  }

  /** Gives a row to each bucket with a weight. */
  #addRows(weights: Float32Array): void {
    const hasRow = this.#hasRow
    for (let bucket = 0; bucket < BUCKETS; bucket++)
      if (weights[bucket] !== 0)
        hasRow[bucket >>> 5] = (hasRow[bucket >>> 5] as number) | (1 << (bucket & 31))
  }

  #fillColumn(column: number, weights: Float32Array): void {
    const hasRow = this.#hasRow
    let at = column
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if ((((hasRow[bucket >>> 5] as number) >>> (bucket & 31)) & 1) === 0) continue
      this.#words[at] = weights[bucket] as number
      at += this.#width
    }
  }

  /** Returns the position of a model's probability; undefined if it is not in the table. */
  columnOf(id: string): number | undefined {
    return this.#columns.get(id)
  }

  /** Returns the probability of a good answer of each model, as `predict` does for one. */
  predictAll({ indices, numbers }: PromptFeatures): Float64Array {
    const results = this.#sumWords(indices)
    const value = wordValue(indices.length)
    for (let column = 0; column < this.#biases.length; column++) {
      const weights = this.#numbers[column] as Float32Array
      let sum = (this.#biases[column] as number) + (results[column] as number) * value
      for (let at = 0; at < weights.length; at++) sum += (weights[at] as number) * (numbers[at] as number)
      results[column] = 1 / (1 + Math.exp(-sum))
    }
    return results
  }

  #sumWords(indices: Uint16Array): Float64Array {
    const words = this.#words
    const width = this.#width
    const count = this.#findRows(indices)
    const sums = new Float64Array(width)
    for (let column = 0; column < width; column += LANES) {
      let first = 0
      let second = 0
      let third = 0
      let fourth = 0
      for (let at = 0; at < count; at++) {
        const start = (rows[at] as number) * width + column
        first += words[start] as number
        second += words[start + 1] as number
        third += words[start + 2] as number
        fourth += words[start + 3] as number
      }
      sums[column] = first
      sums[column + 1] = second
      sums[column + 2] = third
      sums[column + 3] = fourth
    }
    return sums
  }

  /** Fills `rows` with those of the buckets, in the same order, and returns how many there are. */
  #findRows(indices: Uint16Array): number {
    const hasRow = this.#hasRow
    const rowsBefore = this.#rowsBefore
    let count = 0
    for (let at = 0; at < indices.length; at++) {
      const bucket = indices[at] as number
      const group = bucket >>> 5
      const bits = hasRow[group] as number
      // The row of a bucket without one is overwritten by the next: that takes less than a branch.
      rows[count] = (rowsBefore[group] as number) + countBits(bits & ((1 << (bucket & 31)) - 1))
      count += (bits >>> (bucket & 31)) & 1
    }
    return count
  }
}

function countBits(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
