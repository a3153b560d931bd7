import { expect } from 'chai'
import { decodeFeatures } from '../../../../plugins/learned-routing/features.ts'
import { decodeWeights, predict } from '../../../../plugins/learned-routing/model.ts'
import type { TrainedRouter } from '../../../../plugins/learned-routing/rating.ts'
import { trainRouter } from '../../../../plugins/learned-routing/train.ts'
import {
  MADE_CATALOGUE,
  type MadeOptions,
  madePrompt,
  makeRatings,
  type PromptKind,
  TRUE_QUALITY,
} from '../../../support/made-ratings.ts'
import { createRandom } from '../../../support/random.ts'
import { itInFull, ROUNDS } from '../../../support/rounds.ts'

const train = (ratings: Parameters<typeof trainRouter>[0], options = {}) =>
  trainRouter(ratings, { catalogue: MADE_CATALOGUE, ...options })

/** Versions that several tests look at, by the number of their ratings. */
const ofRatings = new Map<number, TrainedRouter>()

function trainedOn(count: number): TrainedRouter {
  const router = ofRatings.get(count) ?? train(makeRatings(count))
  ofRatings.set(count, router)
  return router
}

type Model = keyof typeof MADE_CATALOGUE

/**
 * The true mean score when the half of new prompts goes to the large model that the version would send there,
 * as a share of what foresight reaches: all proofs, and no talk.
 */
function shareOfForesight({ models }: TrainedRouter): number {
  const random = createRandom(99)
  const weights = { small: decodeWeights(models.small!.weights), large: decodeWeights(models.large!.weights) }
  const prompts = Array.from({ length: 400 }, (_, at) => {
    const kind: PromptKind = at % 2 === 0 ? 'talk' : 'proof'
    const features = decodeFeatures(madePrompt(kind, random))
    return { kind, gain: predict(weights.large, features) - predict(weights.small, features) }
  })
  prompts.sort((a, b) => b.gain - a.gain)
  const reached = prompts.reduce((sum, { kind }, at) => {
    const model: Model = at < prompts.length / 2 ? 'large' : 'small'
    return sum + TRUE_QUALITY[kind][model]
  }, 0)
  return reached / (0.9 * prompts.length)
}

describe('training a router', () => {
  it('finds the truth within 5 % of foresight from 400 ratings', () => {
    const router = trainedOn(400)
    expect(shareOfForesight(router)).to.be.above(0.95)
    expect(router.models).to.have.keys('small', 'large')
    expect(router.trained_from).to.include({ ratings: 400, skipped: 0, raters: 10 })
  })

  it('says that it is better where it is with certainty', () => {
    const { figures } = trainedOn(1000)
    expect(figures).to.include({ better_on_known_kinds: true, complete: false, prompts: 200 })
    expect(figures.strategies).to.have.keys('version', 'length', 'catalogue', 'constants')
    expect(figures.strategies.version!.apgr).to.be.above(0.65)
    expect(figures.strategies.catalogue!.apgr).to.be.closeTo(0.5, 0.001)
  })

  it('learns from all ratings what it stores, and judges what it learned from the older ones', () => {
    const { models, figures } = trainedOn(1000)
    expect(figures.fits).to.deep.equal({ judged: 800, stored: 1000 })
    expect(models.small!.ratings + models.large!.ratings).to.equal(1000)
  })

  it('knows foresight where all candidates were rated', () => {
    const { figures } = train(makeRatings(800, { both: true }))
    expect(figures).to.include({ better_on_known_kinds: true, complete: true, prompts: 79 })
    expect(figures.strategies.foresight!.apgr).to.be.above(figures.strategies.version!.apgr as number)
    expect(figures.strategies.version!.curve.at(0)?.[0]).to.equal(0)
    expect(figures.strategies.version!.curve.at(-1)).to.deep.equal([1, figures.candidates[1]?.quality.value])
  })

  it('does not depend on the order of the ratings', () => {
    const ratings = makeRatings(300)
    expect(train(ratings.toReversed())).to.deep.equal(trainedOn(300))
  })

  it('does not call chance better', () => {
    const seeds = ROUNDS.chanceRouters
    let better = 0
    for (let seed = 1; seed <= seeds; seed++) {
      const { figures } = train(makeRatings(500, { seed, isRandom: true, both: seed % 2 === 0 }))
      if (figures.better || figures.better_on_known_kinds) better++
    }
    expect(better).to.be.at.most(seeds * 0.05)
  }).timeout(300_000)

  it('skips retired models, unknown formats and scores out of range', () => {
    const ratings = makeRatings(300)
    const [first] = ratings as [(typeof ratings)[number]]
    const others = [
      { ...first, model: 'retired' },
      { ...first, model: 'constructor' },
      { ...first, features: Uint8Array.of(7) },
      { ...first, score: Number.NaN },
      { ...first, score: 1.5 },
    ]
    const router = train([...ratings, ...others])
    expect(router.models).to.deep.equal(trainedOn(300).models)
    expect(router.trained_from).to.include({ ratings: 300, skipped: 5 })
  })

  it('trains from no or three ratings without judging', () => {
    expect(train([])).to.deep.include({ models: {}, trained_from: { ...train([]).trained_from, ratings: 0 } })
    const router = train(makeRatings(3))
    expect(router.figures).to.include({ better: false, better_on_known_kinds: false })
    expect(router.figures.reason).to.match(/^Fewer than two models have 100 ratings/)
    for (const { weights } of Object.values(router.models)) {
      const p = predict(decodeWeights(weights), decodeFeatures(madePrompt('talk', createRandom(4))))
      expect(p).to.be.within(0.05, 0.95)
    }
  })

  it('stays near the mean for ratings that contradict each other, and for a model that is always good', () => {
    const features = madePrompt('talk', createRandom(2))
    const rated = (model: Model, score: number, at: number) => ({
      model,
      score,
      features,
      time: at,
      user: at % 9,
    })
    const ratings = Array.from({ length: 200 }, (_, at) => [
      rated('small', at % 2, at),
      rated('large', 1, at),
    ]).flat()
    const others = makeRatings(60, { seed: 8 }).map((rating) => ({ ...rating, time: 1e6 }))
    const { models } = train([...ratings, ...others])
    expect(predict(decodeWeights(models.small!.weights), decodeFeatures(features))).to.be.closeTo(0.5, 0.05)
    expect(predict(decodeWeights(models.large!.weights), decodeFeatures(features))).to.be.within(0.97, 0.9999)
  })

  itInFull('takes scores between 0 and 1', () => {
    const ratings = makeRatings(400).map((rating) => ({ ...rating, score: 0.3 + 0.4 * rating.score }))
    const router = train(ratings)
    expect(shareOfForesight(router)).to.be.above(0.95)
    expect(
      router.figures.candidates.every(({ quality }) => quality.value > 0.3 && quality.value < 0.7),
    ).to.equal(true)
  })

  it('keeps a version within the size of an event', () => {
    const router = train(makeRatings(400), { maxBytes: 1000 })
    const bytes = Object.values(router.models).reduce((sum, { weights }) => sum + weights.length, 0)
    expect(bytes).to.be.below(1200)
    expect(shareOfForesight(router)).to.be.above(0.9)
  })
})

describe('ratings that are poisoned', () => {
  itInFull('with a tenth flipped still find the truth', () => {
    const router = train(makeRatings(1000, { flipped: 0.1 }))
    expect(shareOfForesight(router)).to.be.above(0.95)
    expect(router.figures.better_on_known_kinds).to.equal(true)
  })

  it('by one user who gives nine of ten do not change the routing of the others', () => {
    const router = train(makeRatings(4000, { zealot: 0.9 }))
    expect(router.trained_from.largest_rater_share).to.be.within(0.85, 0.95)
    expect(shareOfForesight(router)).to.be.above(0.9)
    const { small } = router.models
    const proof = decodeFeatures(madePrompt('proof', createRandom(6)))
    // Uncapped, the model that the user always praises would be good at everything.
    expect(predict(decodeWeights(small!.weights), proof)).to.be.below(0.6)
  })
})

describe('ratings of exploration', () => {
  itInFull('yield estimates of each choice from recorded propensities', () => {
    const { figures } = train(makeRatings(3000, { propensity: 0.8 }))
    const policies = figures.exploration!.policies
    expect(figures.exploration!.ratings).to.equal(600)
    for (const [name, truth] of [
      ['version', 0.9],
      ['small', 0.5],
      ['large', 0.9],
    ] as const) {
      const { inverse_propensity: inverse, doubly_robust: robust } = policies[name]!
      expect(inverse.low, name).to.be.below(truth)
      expect(inverse.high, name).to.be.above(truth)
      expect(robust.low - 0.02, name).to.be.below(truth)
      expect(robust.high + 0.02, name).to.be.above(truth)
      expect(robust.high - robust.low).to.be.below(inverse.high - inverse.low)
    }
  })

  it('are not estimated without propensities', () => {
    expect(trainedOn(400).figures.exploration).to.equal(null)
  })
})

describe('kinds of prompts that are held out', () => {
  const trainMany = (options: MadeOptions) =>
    ROUNDS.heldOutKinds.map((seed) => train(makeRatings(1600, { topics: 8, ...options, seed })).figures)

  it('confirm most versions whose knowledge carries over to new topics', () => {
    const all = trainMany({})
    for (const { better_on_known_kinds, new_kinds } of all) {
      expect(better_on_known_kinds).to.equal(true)
      expect(new_kinds!.prompts).to.equal(1600)
      expect(new_kinds!.gains).to.have.keys('length', 'catalogue', 'constants')
      expect(new_kinds!.gains.length!.value).to.be.above(0.05)
    }
    const confirmed = all.filter(({ better }) => better)
    expect(confirmed.length).to.be.at.least(0.75 * all.length)
    for (const { reason, new_kinds } of confirmed) {
      expect(reason).to.equal(null)
      expect(new_kinds!.holds).to.equal(true)
    }
  })

  itInFull('do not confirm any that is better in the mean, and harms one kind of eight', () => {
    for (const figures of trainMany({ contrary: 1, both: true })) {
      expect(figures).to.include({ better: false, better_on_known_kinds: true })
      expect(figures.new_kinds!.gains.length!.value).to.be.above(0)
      expect(figures.new_kinds!.gains.length!.low).to.be.below(-0.01)
    }
  })

  it('do not confirm one that only knows the kinds that it has seen', () => {
    const { figures } = train(makeRatings(1600))
    expect(figures).to.include({ better: false, better_on_known_kinds: true })
    expect(figures.reason).to.match(/^On kinds of prompts that it has not seen, it may be below .*length/)
  })
})

describe('the figures of parts', () => {
  it('show groups and clusters with enough prompts', () => {
    const ratings = makeRatings(2400).map((rating, at) => ({
      ...rating,
      group: ['a', 'b', 'c'][at % 10] ?? 'd',
    }))
    const { by_group, by_cluster } = train(ratings).figures
    expect(by_group.map(({ name }) => name)).to.deep.equal(['d'])
    expect(by_group[0]).to.include({ better: true })
    expect(by_cluster.reduce((sum, { prompts }) => sum + prompts, 0)).to.be.within(100, 480)
  })
})

describe('models of the same cost', () => {
  it('are judged by quality alone', () => {
    const catalogue = { small: { cost: 1, quality: 60 }, large: { cost: 1, quality: 90 } }
    const { figures } = trainRouter(makeRatings(1200, { both: true }), { catalogue })
    expect(figures.strategies).to.have.keys('version', 'catalogue', 'constants', 'foresight')
    expect(figures).to.include({ better: false, better_on_known_kinds: false, new_kinds: null })
    expect(figures.strategies.version!.curve).to.have.length(1)
  })
})
