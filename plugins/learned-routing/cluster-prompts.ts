import { createRandom } from '../../core/util/random.ts'
import { BUCKETS, type PromptFeatures } from './features.ts'

const ROUNDS = 10
/** So many rounds show which of several starts is best. */
const START_ROUNDS = 3

interface ClusterOptions {
  readonly clusters: number
  readonly seed: number
  /** Number of random starts, of which the best result counts. Default: 1. */
  readonly starts?: number
  /** By prompt. Default: all weigh the same. */
  readonly weights?: Float64Array
}

/**
 * Groups prompts with similar words, by k-means on the cosine of their words, of which rare ones count more.
 * Returns the cluster of each prompt. Some clusters may be empty.
 */
export function clusterPrompts(
  prompts: readonly { readonly features: PromptFeatures }[],
  { clusters, seed, starts = 1, weights = new Float64Array(prompts.length).fill(1) }: ClusterOptions,
): Uint8Array {
  const random = createRandom(seed)
  const rarities = measureRarity(prompts)
  const words = prompts.map(({ features }) =>
    features.indices.filter((bucket) => (rarities[bucket] as number) > 0),
  )
  const items = words.map((own, at) => ({ own, share: weights[at] as number }))
  let best: Clustering | undefined
  for (let start = 0; start < starts && words.length > 0; start++) {
    const clustering = {
      centers: new Float32Array(BUCKETS * clusters),
      assigned: new Uint8Array(words.length),
    }
    for (let cluster = 0; cluster < clusters; cluster++)
      addTo(clustering.centers, random.weighted(items).own, rarities, { clusters, cluster, weight: 1 })
    improve(clustering, words, weights, rarities, starts === 1 ? ROUNDS : START_ROUNDS)
    if (best === undefined || similarityOf(clustering, clusters) > similarityOf(best, clusters))
      best = clustering
  }
  if (best === undefined) return new Uint8Array(prompts.length)
  if (starts > 1) improve(best, words, weights, rarities, ROUNDS - START_ROUNDS)
  return best.assigned
}

interface Clustering {
  /** By bucket, then by cluster: the clusters of a word share cache lines. */
  readonly centers: Float32Array
  readonly assigned: Uint8Array
}

/** Assigns prompts to the nearest centers and moves the centers to their prompts, at most `rounds` times. */
function improve(
  { centers, assigned }: Clustering,
  words: readonly Uint16Array[],
  weights: Float64Array,
  rarities: Float32Array,
  rounds: number,
): void {
  const clusters = centers.length / BUCKETS
  for (let round = 0; round < rounds; round++) {
    const scales = measureCenters(centers, clusters)
    let changed = 0
    for (let at = 0; at < words.length; at++) {
      const nearest = findNearest(words[at] as Uint16Array, rarities, centers, scales)
      if (assigned[at] !== nearest) changed++
      assigned[at] = nearest
    }
    if (changed === 0) break
    centers.fill(0)
    for (let at = 0; at < words.length; at++)
      addTo(centers, words[at] as Uint16Array, rarities, {
        clusters,
        cluster: assigned[at] as number,
        weight: weights[at] as number,
      })
  }
}

/** Returns how similar prompts are to their centers in sum, which is what k-means maximizes. */
function similarityOf({ centers }: Clustering, clusters: number): number {
  const scales = measureCenters(centers, clusters)
  return scales.reduce((sum, scale) => sum + (scale === 0 ? 0 : 1 / scale), 0)
}

/** By bucket: the logarithm of one in how many prompts has it; 0 for words that only one prompt has. */
function measureRarity(prompts: readonly { readonly features: PromptFeatures }[]): Float32Array {
  const counts = new Uint32Array(BUCKETS)
  for (const { features } of prompts)
    for (const bucket of features.indices) counts[bucket] = (counts[bucket] as number) + 1
  return Float32Array.from(counts, (count) => (count < 2 ? 0 : Math.log(prompts.length / count)))
}

/** Adds a prompt of length 1, times its weight, to its center. */
function addTo(
  centers: Float32Array,
  words: Uint16Array,
  rarities: Float32Array,
  { clusters, cluster, weight }: { clusters: number; cluster: number; weight: number },
): void {
  let squares = 0
  for (let word = 0; word < words.length; word++) squares += (rarities[words[word] as number] as number) ** 2
  const scale = weight / Math.sqrt(Math.max(squares, Number.EPSILON))
  for (let word = 0; word < words.length; word++) {
    const bucket = words[word] as number
    const at = bucket * clusters + cluster
    centers[at] = (centers[at] as number) + scale * (rarities[bucket] as number)
  }
}

/** By cluster: one by the length of its center. */
function measureCenters(centers: Float32Array, clusters: number): Float64Array {
  const squares = new Float64Array(clusters)
  for (let start = 0; start < centers.length; start += clusters)
    for (let cluster = 0; cluster < clusters; cluster++)
      squares[cluster] = (squares[cluster] as number) + (centers[start + cluster] as number) ** 2
  return squares.map((sum) => (sum === 0 ? 0 : 1 / Math.sqrt(sum)))
}

function findNearest(
  words: Uint16Array,
  rarities: Float32Array,
  centers: Float32Array,
  scales: Float64Array,
): number {
  const products = new Float64Array(scales.length)
  for (let word = 0; word < words.length; word++) {
    const bucket = words[word] as number
    const rarity = rarities[bucket] as number
    const start = bucket * scales.length
    for (let cluster = 0; cluster < scales.length; cluster++)
      products[cluster] = (products[cluster] as number) + rarity * (centers[start + cluster] as number)
  }
  let nearest = 0
  let most = Number.NEGATIVE_INFINITY
  for (let cluster = 0; cluster < scales.length; cluster++) {
    const product = (products[cluster] as number) * (scales[cluster] as number)
    if (product <= most) continue
    nearest = cluster
    most = product
  }
  return nearest
}
