import { createRandom } from '../../core/util/random.ts'
import type { PromptFeatures } from './features.ts'
import type { RatedPrompt } from './split-ratings.ts'

const CLUSTERS = 4
const DIMENSIONS = 24
const ROUNDS = 12

/** Groups prompts with similar words, by k-means on a random projection. Returns the name of each cluster. */
export function clusterPrompts(
  prompts: readonly RatedPrompt[],
  seed: number,
): (prompt: RatedPrompt, index: number) => string {
  const random = createRandom(seed)
  const salts = Array.from({ length: DIMENSIONS }, () => random.integer(2 ** 32) | 1)
  const points = prompts.map(({ features }) => project(features, salts))
  let centers = Array.from({ length: CLUSTERS }, () => points[random.integer(points.length)] as Float64Array)
  let clusters = points.map((point) => nearest(point, centers))
  for (let round = 0; round < ROUNDS; round++) {
    centers = centers.map((center, cluster) => {
      const members = points.filter((_, at) => clusters[at] === cluster)
      return members.length === 0 ? center : center.map((_, at) => meanAt(members, at))
    })
    clusters = points.map((point) => nearest(point, centers))
  }
  const names = centers.map((_, cluster) => {
    const lengths = prompts.flatMap(({ features }, at) =>
      clusters[at] === cluster ? [2 ** (features.numbers[0] as number) - 1] : [],
    )
    const middle = lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? 0
    return `${cluster + 1} (median length ${Math.round(middle)})`
  })
  return (_, index) => names[clusters[index] as number] as string
}

function project({ indices }: PromptFeatures, salts: readonly number[]): Float64Array {
  const point = new Float64Array(salts.length)
  for (const bucket of indices) {
    for (let at = 0; at < salts.length; at++) {
      const sign = Math.imul(bucket + 1, salts[at] as number) >= 0 ? 1 : -1
      point[at] = (point[at] as number) + sign
    }
  }
  const size = Math.sqrt(point.reduce((sum, value) => sum + value * value, 0)) || 1
  return point.map((value) => value / size)
}

function nearest(point: Float64Array, centers: readonly Float64Array[]): number {
  const distances = centers.map((center) =>
    center.reduce((sum, value, at) => sum + (value - (point[at] as number)) ** 2, 0),
  )
  return distances.indexOf(Math.min(...distances))
}

function meanAt(points: readonly Float64Array[], at: number): number {
  return points.reduce((sum, point) => sum + (point[at] as number), 0) / points.length
}
