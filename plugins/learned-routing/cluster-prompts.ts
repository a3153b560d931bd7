import { createRandom } from '../../core/util/random.ts'
import { BUCKETS, type PromptFeatures } from './features.ts'

const ROUNDS = 10

export interface ClusterOptions {
  readonly clusters: number
  readonly seed: number
}

/**
 * Groups prompts with similar words, by k-means on the cosine of their words, of which rare ones count more.
 * Returns the cluster of each prompt. Some clusters may be empty.
 */
export function clusterPrompts(
  prompts: readonly { readonly features: PromptFeatures }[],
  { clusters, seed }: ClusterOptions,
): Uint8Array {
  const random = createRandom(seed)
  const rarities = measureRarity(prompts)
  const assigned = new Uint8Array(prompts.length)
  // By bucket, then by cluster: the clusters of a word share cache lines.
  const centers = new Float32Array(BUCKETS * clusters)
  for (let cluster = 0; cluster < clusters && prompts.length > 0; cluster++) {
    const { indices } = (prompts[random.integer(prompts.length)] as (typeof prompts)[number]).features
    for (const bucket of indices) centers[bucket * clusters + cluster] = rarities[bucket] as number
  }
  for (let round = 0; round < ROUNDS; round++) {
    normalize(centers, clusters)
    let changed = 0
    for (const [at, { features }] of prompts.entries()) {
      const nearest = findNearest(features.indices, rarities, centers, clusters)
      if (assigned[at] !== nearest) changed++
      assigned[at] = nearest
    }
    if (changed === 0) break
    centers.fill(0)
    for (const [at, { features }] of prompts.entries()) {
      addTo(centers, features.indices, rarities, clusters, assigned[at] as number)
    }
  }
  return assigned
}

/** By bucket: the logarithm of one in how many prompts has it; 0 for words that only one prompt has. */
function measureRarity(prompts: readonly { readonly features: PromptFeatures }[]): Float32Array {
  const counts = new Uint32Array(BUCKETS)
  for (const { features } of prompts)
    for (const bucket of features.indices) counts[bucket] = (counts[bucket] as number) + 1
  return Float32Array.from(counts, (count) => (count < 2 ? 0 : Math.log(prompts.length / count)))
}

/** Adds a prompt of length 1 to its center. */
function addTo(
  centers: Float32Array,
  indices: Uint16Array,
  rarities: Float32Array,
  clusters: number,
  cluster: number,
): void {
  let squares = 0
  for (const bucket of indices) squares += (rarities[bucket] as number) ** 2
  const scale = 1 / Math.sqrt(Math.max(squares, Number.EPSILON))
  for (const bucket of indices) {
    const at = bucket * clusters + cluster
    centers[at] = (centers[at] as number) + scale * (rarities[bucket] as number)
  }
}

function normalize(centers: Float32Array, clusters: number): void {
  const squares = new Float64Array(clusters)
  for (let at = 0; at < centers.length; at++)
    squares[at % clusters] = (squares[at % clusters] as number) + (centers[at] as number) ** 2
  const scales = squares.map((sum) => (sum === 0 ? 0 : 1 / Math.sqrt(sum)))
  for (let at = 0; at < centers.length; at++)
    centers[at] = (centers[at] as number) * (scales[at % clusters] as number)
}

function findNearest(
  indices: Uint16Array,
  rarities: Float32Array,
  centers: Float32Array,
  clusters: number,
): number {
  const products = new Float64Array(clusters)
  for (const bucket of indices) {
    const rarity = rarities[bucket] as number
    if (rarity === 0) continue
    for (let cluster = 0; cluster < clusters; cluster++)
      products[cluster] =
        (products[cluster] as number) + rarity * (centers[bucket * clusters + cluster] as number)
  }
  let nearest = 0
  for (let cluster = 1; cluster < clusters; cluster++)
    if ((products[cluster] as number) > (products[nearest] as number)) nearest = cluster
  return nearest
}
