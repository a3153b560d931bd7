import { createFeatureKey, encodeFeatures, extractFeatures } from '../../plugins/learned-routing/features.ts'
import type { Rating } from '../../plugins/learned-routing/rating.ts'
import { createRandom, type Random } from './random.ts'

const KEY = createFeatureKey('secret of the tests')

/** The strong model is ten times as expensive. */
export const MADE_CATALOGUE = { small: { cost: 1, quality: 60 }, large: { cost: 10, quality: 90 } }

/** The small model is good at talk and bad at proofs; the large one is good at both. */
export const TRUE_QUALITY = {
  talk: { small: 0.9, large: 0.9 },
  proof: { small: 0.1, large: 0.9 },
} as const

export type PromptKind = keyof typeof TRUE_QUALITY

/** Both kinds have words of the same length, so that the length of a prompt says nothing. */
const WORDS = {
  talk: 'hello please write another friendly letter to my aunt about the wonderful summer birthday weather'.split(
    ' ',
  ),
  proof: 'prove that every finite group ring integral lemma converges using induction on the theorem'.split(
    ' ',
  ),
}

export function madePrompt(kind: PromptKind, random: Random, topic?: number): Uint8Array {
  const words = Array.from({ length: 12 }, () => random.pick(WORDS[kind]))
  if (topic !== undefined)
    words.push(...Array.from({ length: 12 }, () => `t${'x'.repeat(topic)}${random.pick('abcdef'.split(''))}`))
  return encodeFeatures(extractFeatures({ lastUserMessage: words.join(' ') }, KEY))
}

export interface MadeOptions {
  readonly seed?: number
  /** The kind of prompt and the model say nothing about the score. */
  readonly isRandom?: boolean
  /** Each prompt is about one of so many topics, which say nothing about the score. */
  readonly topics?: number
  /** In so many of the topics, the small model is good at proofs and bad at talk. */
  readonly contrary?: number
  /** Each prompt has ratings of both models. */
  readonly both?: boolean
  readonly flipped?: number
  /** The share of ratings that one user gives, always in favour of the small model. */
  readonly zealot?: number
  /** The model is drawn with this probability of the small one, which is recorded. */
  readonly propensity?: number
}

/** Makes ratings of prompts of two kinds, by ten users. */
export function makeRatings(count: number, options: MadeOptions = {}): Rating[] {
  const random = createRandom(options.seed ?? 1)
  const ratings: Rating[] = []
  for (let time = 0; ratings.length < count; time++) {
    const kind = random.chance(0.5) ? 'talk' : 'proof'
    const topic = options.topics && random.integer(options.topics)
    const isContrary = topic !== undefined && topic < (options.contrary ?? 0)
    const truth = TRUE_QUALITY[isContrary === (kind === 'talk') ? 'proof' : 'talk']
    const features = madePrompt(kind, random, topic)
    const drawn = random.chance(options.propensity ?? 0.5) ? 'small' : 'large'
    const isZealot = random.chance(options.zealot ?? 0)
    for (const model of options.both ? (['small', 'large'] as const) : [drawn as 'small' | 'large']) {
      const isGood = random.chance(options.isRandom ? 0.7 : truth[model])
      const score = isZealot ? model === 'small' : random.chance(options.flipped ?? 0) ? !isGood : isGood
      const share = options.propensity ?? 0
      const propensity = model === 'small' ? share : 1 - share
      ratings.push({
        model,
        score: Number(score),
        features,
        time: Date.UTC(2026, 0, 1) + time * 60_000,
        user: isZealot ? 'zealot' : `user ${random.integer(10)}`,
        ...(options.propensity !== undefined && { propensity }),
      })
    }
  }
  return ratings
}
