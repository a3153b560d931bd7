import { expect } from 'chai'
import { assessFeatures, type PromptAssessment } from '../../../../plugins/learned-routing/assess-prompt.ts'
import {
  createFeatureKey,
  encodeFeatures,
  extractFeatures,
} from '../../../../plugins/learned-routing/features.ts'
import { ModelTable } from '../../../../plugins/learned-routing/model-table.ts'
import type { StoredRecord } from '../../../../plugins/ledger/store/queries.ts'
import { buildAutomaticRoute } from '../../../../plugins/routing/build-route.ts'
import { drawModel, toRouterChoice } from '../../../../plugins/routing/explore.ts'
import { promptQuality, rankModels } from '../../../../plugins/routing/rank-models.ts'
import { decideAgain, replayRouter } from '../../../../plugins/routing/replay-router.ts'
import { market, WEIGHTS } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const KEY = createFeatureKey('a secret for tests')
const NEEDS = { inputTokens: 1000, outputTokens: 500, tools: false, images: false, json: 0 }
const latencyOf = ({ latency_ms }: { latency_ms: number }) => latency_ms

// The example of docs/guides/learned-routing.md, "One request by hand".
const small = model('small', 'acme', { price: { input: 0.1, output: 0.4 }, quality: 60, latency_ms: 500 })
const medium = model('medium', 'acme', { price: { input: 1, output: 4 }, quality: 80, latency_ms: 1000 })
const large = model('large', 'acme', { price: { input: 10, output: 40 }, quality: 95, latency_ms: 2000 })
const candidates = [small, medium, large]

const features = extractFeatures({ lastUserMessage: 'Write a haiku' }, KEY)

/** Weights of write, a, write a, haiku and a haiku, in any order: the prompt has all of them. */
function weights(bias: number, ofWords: readonly number[], ofLength: number) {
  const words = new Float32Array(65_536)
  for (const [at, weight] of ofWords.entries()) words[features.indices[at] as number] = weight
  const numbers = new Float32Array(10)
  numbers[0] = ofLength
  return { bias, words, numbers }
}

const router = {
  version: 3,
  models: new ModelTable([
    ['small', weights(0.4, [0.2, 0, 0, 3, 1.2], -0.1)],
    ['large', weights(1.2, [], 0.05)],
  ]),
}

describe('a choice with a learned router', () => {
  const assessment = assessFeatures(features, router)
  const rank = (mode: keyof typeof WEIGHTS, qualityOf = promptQuality(assessment)) =>
    rankModels(candidates, NEEDS, WEIGHTS[mode], latencyOf, qualityOf)

  it('is as the documentation works it out', () => {
    expect(features.indices).to.have.length(5)
    expect(assessment.probabilityOf('small')).to.be.closeTo(0.879, 0.001)
    expect(assessment.probabilityOf('large')).to.be.closeTo(0.801, 0.001)
    expect(assessment.probabilityOf('medium')).to.equal(undefined)
    const scores = (ranked: ReturnType<typeof rank>) =>
      ranked.map(({ model: { id }, score }) => `${id} ${score.toFixed(2)}`)
    expect(scores(rank('quality'))).to.deep.equal(['small 1.00', 'medium 0.10', 'large 0.01'])
    expect(scores(rank('quality', ({ quality }) => quality))).to.deep.equal([
      'large 0.80',
      'medium 0.56',
      'small 0.20',
    ])
  })

  it('is made again from the version and the kept features', () => {
    const [best] = rank('quality')
    const tokens = { input: 1000, output: 500, cached: 0, cacheWrite: 0, reasoning: 0 }
    const again = decideAgain({ model: 'small', tokens }, 'quality', encodeFeatures(features), {
      router,
      candidates,
      weights: WEIGHTS,
    })
    expect(again.model).to.equal(best?.model.id)
    const probability = assessment.probabilityOf('small')
    expect(again).to.include({ probability, recordedProbability: probability, cost: 0.0003 })
  })

  it('is not made again where the caller, a rule or a split decided', async () => {
    const tokens = { input: 1000, output: 500, cached: 0, cacheWrite: 0, reasoning: 0 }
    const reasons: readonly (readonly [reason: string, more?: object])[] = [
      ['Best model for the mode quality: acme/large.'],
      ['A routing rule set the mode quality: acme/large.'],
      ['The request named the model: acme/large.'],
      ['The caller prefers this model: acme/large.'],
      ['A routing rule set the model large: acme/large.'],
      ['A split of a routing rule drew the model large: acme/large.', { arm: 'large' }],
    ]
    const records = reasons.map(([reason, more], id) => {
      return {
        id,
        model: 'large',
        mode: 'quality',
        status: 200,
        cost: 3,
        tokens,
        reason,
        ...more,
      } as StoredRecord
    })
    const result = await replayRouter(
      { router, candidates, weights: WEIGHTS, since: 0, until: 1, limit: 100 },
      {
        list: async () => ({ records }),
        featuresOf: async (ids) => new Map(ids.map((id) => [id, encodeFeatures(features)])),
      },
    )
    expect(result).to.include({ requests: 2, changed: 2 })
    expect(result.recorded.models).to.deep.equal([{ model: 'large', requests: 2, share: 1 }])
    expect(result.candidate.models).to.deep.equal([{ model: 'small', requests: 2, share: 1 }])
  })

  it('explores in the given share, within the price cap, with the propensity of each choice', () => {
    const [best] = rank('balance')
    const ranked = rank('balance')
    if (best === undefined) throw new Error('nothing was ranked')
    const draw = (mode: 'cost' | 'quality', draws: readonly [number, number]) =>
      drawModel(best, ranked, mode, NEEDS, { ...withDraws(assessment, draws), explore: 0.2 })

    expect(best.model.id).to.equal('small')
    expect(draw('quality', [0.2, 0])).to.include({ chosen: best, propensity: 0.8 + 0.2 / 3 })
    const drawn = draw('quality', [0.1, 0])
    expect(drawn.chosen.model.id).to.equal('large')
    expect(drawn.propensity).to.be.closeTo(0.2 / 3, 1e-9)
    // Nothing else costs at most twice as much as the best one.
    expect(draw('cost', [0.1, 0])).to.include({ chosen: best, propensity: 1 })
  })

  it('draws the same model in whatever order latencies rank them', () => {
    for (const ranked of [rank('balance'), rank('balance').toReversed()]) {
      const best = ranked.find(({ model }) => model === small) ?? expect.fail('not ranked')
      const draw = (which: number) => {
        const drawing = { ...withDraws(assessment, [0.1, which]), explore: 0.2 }
        return drawModel(best, ranked, 'quality', NEEDS, drawing).chosen.model.id
      }
      expect([0, 0.5, 0.99].map(draw)).to.deep.equal(['large', 'medium', 'small'])
    }
  })

  it('explores the models beside a free one as far as the mode lets it', () => {
    const free = model('free', 'acme', { price: { input: 0, output: 0 }, quality: 99 })
    const best = { model: free, score: 1 }
    const ranked = [best, { model: small, score: 0.5 }]
    const draw = (mode: 'balance' | 'quality') =>
      drawModel(best, ranked, mode, NEEDS, { ...withDraws(assessment, [0.1, 0.99]), explore: 0.2 })
    expect(draw('quality').chosen.model.id).to.equal('small')
    expect(draw('balance').chosen.model.id).to.equal('free')
  })

  it('explores only what the key, a rule and the catalogue allow', () => {
    const manual = model('manual', 'acme', { automatic: false })
    const models = [...candidates, model('elsewhere', 'other'), manual]
    const drawn = (choice: { models?: readonly string[]; provider?: string }) => {
      const draws = Array.from({ length: 20 }, (_, at) => [0, at / 20] as const)
      const routes = draws.map((numbers) =>
        buildAutomaticRoute(
          'quality',
          'best for the test',
          {
            request: { messages: [] },
            userId: 1,
            preferences: [],
            assessment: { ...withDraws(assessment, numbers), explore: 0.2 },
            ...choice,
          },
          market(models),
        ),
      )
      return [...new Set(routes.map(({ targets }) => targets[0].model))].sort()
    }
    expect(drawn({})).to.deep.equal(['elsewhere', 'large', 'medium', 'small'])
    expect(drawn({ models: ['small', 'large'] })).to.deep.equal(['large', 'small'])
    expect(drawn({ provider: 'other' })).to.deep.equal(['elsewhere'])
    expect(drawn({ provider: 'acme', models: ['medium', 'elsewhere'] })).to.deep.equal(['medium'])
  })

  it('is recorded once there is a version or a draw', () => {
    expect(toRouterChoice(undefined, small, null)).to.equal(undefined)
    expect(toRouterChoice(assessFeatures(features, undefined), small, null)).to.equal(undefined)
    expect(toRouterChoice(assessFeatures(features, undefined), small, 0.5)).to.deep.equal({
      version: 0,
      probability: null,
      propensity: 0.5,
    })
    expect(toRouterChoice(assessment, medium, null)).to.deep.equal({
      version: 3,
      probability: null,
      propensity: null,
    })
  })
})

function withDraws(assessment: PromptAssessment, draws: readonly [number, number]): PromptAssessment {
  const probabilityOf = (id: string) => assessment.probabilityOf(id)
  return { version: assessment.version, decides: true, explore: 0, draws, probabilityOf }
}
