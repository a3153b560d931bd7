import { expect } from 'chai'
import { decodeFeatures } from '../../plugins/learned-routing/features.ts'
import { decodeWeights, predict } from '../../plugins/learned-routing/model.ts'
import type { Rating, TrainedRouter } from '../../plugins/learned-routing/rating.ts'
import { trainRouter } from '../../plugins/learned-routing/train.ts'
import {
  MADE_CATALOGUE,
  type MadeOptions,
  madePrompt,
  makeRatings,
  type PromptKind,
} from '../support/made-ratings.ts'
import { createRandom } from '../support/random.ts'

const train = (ratings: readonly Rating[]) => trainRouter(ratings, { catalogue: MADE_CATALOGUE })

type Model = keyof typeof MADE_CATALOGUE
type Opinion = (kind: PromptKind, model: Model) => number

const START = Date.UTC(2026, 0, 1)
const DAY = 86_400_000

interface Flood {
  readonly count: number
  /** What is said about each reply. */
  readonly opinion: Opinion
  /** Days after the first honest rating. */
  readonly from: number
  readonly to: number
  readonly user?: string
  readonly topic?: number
  readonly seed?: number
}

/** Ratings of one rater. */
function flood({ count, opinion, from, to, user = 'flood', topic, seed = 77 }: Flood): Rating[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, (_, at) => {
    const kind: PromptKind = random.chance(0.5) ? 'talk' : 'proof'
    const model: Model = random.chance(0.5) ? 'small' : 'large'
    return {
      model,
      score: opinion(kind, model),
      features: madePrompt(kind, random, topic),
      time: START + DAY * (from + ((to - from) * at) / count),
      user,
    }
  })
}

/** That the small model is good at proofs, and the large one at talk: the opposite of the truth. */
const upsideDown: Opinion = (kind, model) => Number((kind === 'proof') === (model === 'small'))
const praiseSmall: Opinion = (_, model) => Number(model === 'small')

/** The share of proofs that go to the large model if half of all prompts do. */
function shareOfStrong({ models }: Pick<TrainedRouter, 'models'>, topic?: number): number {
  const random = createRandom(99)
  const weights = { small: decodeWeights(models.small!.weights), large: decodeWeights(models.large!.weights) }
  const gains = Array.from({ length: 300 }, (_, at) => {
    const kind: PromptKind = at % 2 === 0 ? 'talk' : 'proof'
    const features = decodeFeatures(madePrompt(kind, random, topic))
    return { kind, gain: predict(weights.large, features) - predict(weights.small, features) }
  })
  const strong = gains.toSorted((a, b) => b.gain - a.gain).slice(0, 150)
  return strong.filter(({ kind }) => kind === 'proof').length / 150
}

const honest = (count: number, options: MadeOptions = {}) => makeRatings(count, options)

describe('a rater who wants to mislead a router', () => {
  it('does not judge the version by rating last', () => {
    // 1,600 of 3,100 ratings, as found: the version did harm and was called better.
    const ratings = [...honest(1500), ...flood({ count: 1600, opinion: upsideDown, from: 1, to: 2 })]
    const router = train(ratings)
    expect(router.trained_from.largest_rater_share).to.be.within(0.5, 0.53)
    expect(shareOfStrong(router)).to.be.above(0.9)
    expect(router.figures.raters).to.equal(11)
  })

  for (const [when, from, to] of [
    ['before all others', -2, -1],
    ['together with the others', 0, 1],
    ['after all others', 1.1, 2],
  ] as const)
    for (const [what, opinion] of Object.entries({ upsideDown, praiseSmall }))
      it(`gets no harmful version called better: ${what}, ${when}`, () => {
        for (const count of [400, 1600, 4000]) {
          const router = train([...honest(1000), ...flood({ count, opinion, from, to })])
          const share = shareOfStrong(router)
          expect(share, `${count} ratings`).to.be.above(0.85)
          if (router.figures.better_on_known_kinds) expect(share).to.be.above(0.9)
        }
      }).timeout(120_000)

  it('does not judge what the others taught by rating the holdout only', () => {
    const figuresOf = (ratings: readonly Rating[]) => train(ratings).figures.strategies.version!
    const alone = figuresOf(honest(1000))
    // They rate as the others until the newest fifth, of which they give three quarters.
    const late = flood({ count: 600, opinion: upsideDown, from: 1, to: 1.1 })
    const misled = figuresOf([...honest(1000), ...late])
    expect(misled.apgr).to.be.above(0.55)
    expect(misled.quality.value).to.be.above(alone.quality.value - 0.15)
  })

  it('does not turn around a topic of the others', () => {
    // A twentieth of the traffic, which went from 100 % to 26 % strong.
    const topic = 7
    const others = honest(1400, { topics: 6 })
    const ofTopic = makeRatings(160, { topics: 1, seed: 5 }).map((rating, at) => {
      const random = createRandom(1000 + at)
      const kind: PromptKind = random.chance(0.5) ? 'talk' : 'proof'
      const good = kind === 'talk' || rating.model === 'large'
      return { ...rating, features: madePrompt(kind, random, topic), score: Number(good) }
    })
    expect(shareOfStrong(train([...others, ...ofTopic]), topic)).to.be.above(0.95)
    const attack = flood({ count: 1600, opinion: upsideDown, from: 0, to: 1, topic })
    expect(shareOfStrong(train([...others, ...ofTopic, ...attack]), topic)).to.be.above(0.85)
  })

  it('weighs no more by importing, alone or with a user', () => {
    const imported = (by: string) => flood({ count: 2000, opinion: upsideDown, from: 0, to: 0, user: by })
    const withUser = [
      ...imported('import by opr_1'),
      ...flood({ count: 800, opinion: upsideDown, from: 0, to: 1 }),
    ]
    for (const attack of [imported('import by opr_1'), withUser]) {
      const router = train([...honest(1000), ...attack])
      expect(router.figures.strategies.version?.apgr ?? 0).to.be.above(0.5)
      expect(shareOfStrong(router)).to.be.above(0.85)
    }
    // Ratings without a user are those of one source, however many there are.
    const anonymous = imported('x').map(({ user: _, ...rating }) => rating)
    expect(train(anonymous).figures).to.include({ better_on_known_kinds: false, raters: 1 })
  })

  it('gets no verdict with fewer than four raters', () => {
    for (const raters of [1, 2, 3]) {
      const ratings = honest(1000).map((rating, at) => ({ ...rating, user: `user ${at % raters}` }))
      const { figures } = train(ratings)
      expect(figures).to.include({ better: false, better_on_known_kinds: false, raters })
      expect(figures.reason).to.equal('Fewer than 4 users or importers have ratings in the newest fifth.')
    }
    const four = honest(1000).map((rating, at) => ({ ...rating, user: `user ${at % 4}` }))
    expect(train(four).figures).to.include({ better_on_known_kinds: true, raters: 4 })
  })

  it('does not make a model good that nobody else rates', () => {
    const catalogue = { ...MADE_CATALOGUE, middle: { cost: 5, quality: 75 } }
    const praise = flood({ count: 1200, opinion: () => 1, from: 0, to: 1 }).map((rating) => ({
      ...rating,
      model: 'middle',
    }))
    const { figures } = trainRouter([...honest(1000), ...praise], { catalogue })
    expect(figures.candidates.map(({ model }) => model)).to.deep.equal(['small', 'large'])
  })

  it('has help of others only as far as they are many', () => {
    const sybils = (count: number) =>
      Array.from({ length: count }, (_, at) =>
        flood({ count: 800, opinion: upsideDown, from: 0, to: 1, user: `sybil ${at}`, seed: at }),
      ).flat()
    const two = train([...honest(1000), ...sybils(2)])
    expect(shareOfStrong(two)).to.be.above(0.8)
    // What remains possible: as many users as the honest ones decide with them.
    expect(shareOfStrong(train([...honest(1000), ...sybils(12)]))).to.be.below(0.5)
  })
})
