import { BUCKETS, type PromptFeatures } from './features.ts'
import { type ModelWeights, wordValue } from './model.ts'

/** Models whose sums are computed together, in registers. */
const LANES = 4

/**
 * The weights of several models, those of a bucket side by side: a prompt costs one cache miss per bucket
 * instead of one per bucket and model.
 */
export class ModelTable {
  readonly #columns: ReadonlyMap<string, number>
  readonly #biases: Float64Array
  /** By bucket, then by model; the number of models is rounded up to a multiple of `LANES`. */
  readonly #words: Float32Array
  /** By model, then by number. */
  readonly #numbers: readonly Float32Array[]

  constructor(models: readonly (readonly [id: string, weights: ModelWeights])[]) {
    const width = Math.ceil(models.length / LANES) * LANES
    this.#columns = new Map(models.map(([id], column) => [id, column]))
    this.#biases = Float64Array.from(models, ([, { bias }]) => bias)
    this.#words = new Float32Array(BUCKETS * width)
    this.#numbers = models.map(([, { numbers }]) => numbers)
    for (const [column, [, { words }]] of models.entries())
      for (let bucket = 0; bucket < BUCKETS; bucket++)
        this.#words[bucket * width + column] = words[bucket] as number
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
    const width = words.length / BUCKETS
    const sums = new Float64Array(width)
    for (let column = 0; column < width; column += LANES) {
      let first = 0
      let second = 0
      let third = 0
      let fourth = 0
      for (let at = 0; at < indices.length; at++) {
        const row = (indices[at] as number) * width + column
        first += words[row] as number
        second += words[row + 1] as number
        third += words[row + 2] as number
        fourth += words[row + 3] as number
      }
      sums[column] = first
      sums[column + 1] = second
      sums[column + 2] = third
      sums[column + 3] = fourth
    }
    return sums
  }
}
