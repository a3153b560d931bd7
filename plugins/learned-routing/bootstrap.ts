import { createRandom } from '../../core/util/random.ts'
import type { Interval } from './figures.ts'

/**
 * Calls `measure` with the weights of prompts, then with those of `samples` samples that are drawn from them
 * with replacement. Returns an interval for each of the figures that it returns.
 */
export function bootstrap(
  weights: Float64Array,
  { samples, seed }: { readonly samples: number; readonly seed: number },
  measure: (weights: Float64Array) => readonly number[],
): readonly Interval[] {
  const random = createRandom(seed)
  const values = measure(weights)
  const drawn = values.map(() => new Float64Array(samples))
  const sampled = new Float64Array(weights.length)
  for (let sample = 0; sample < samples; sample++) {
    sampled.fill(0)
    for (let draw = 0; draw < weights.length; draw++) {
      const prompt = random.integer(weights.length)
      sampled[prompt] = (sampled[prompt] as number) + (weights[prompt] as number)
    }
    for (const [at, value] of measure(sampled).entries()) (drawn[at] as Float64Array)[sample] = value
  }
  return values.map((value, at) => {
    const ascending = (drawn[at] as Float64Array).sort()
    const quantile = (share: number) => ascending[Math.floor(share * (samples - 1))] as number
    return { value, low: quantile(0.025), high: quantile(0.975) }
  })
}
