import { expect } from 'chai'
import type { Model } from '../../../../core/contract/index.ts'
import { rankModels } from '../../../../plugins/routing/rank-models.ts'
import { WEIGHTS } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const requirements = { inputTokens: 1000, outputTokens: 500, tools: false, images: false, json: 0 }

const rank = (models: readonly Model[], mode: keyof typeof WEIGHTS, required = requirements) =>
  rankModels(models, required, WEIGHTS[mode], ({ latency_ms }) => latency_ms)

const names = (models: readonly Model[], mode: keyof typeof WEIGHTS) =>
  rank(models, mode).map(({ model }) => model.id)

describe('ranking models', () => {
  const cheap = model('cheap', 'acme', { price: { input: 0.1, output: 0.4 }, quality: 30, latency_ms: 2000 })
  const good = model('good', 'acme', { price: { input: 10, output: 40 }, quality: 95, latency_ms: 6000 })
  const fast = model('fast', 'acme', { price: { input: 5, output: 20 }, quality: 40, latency_ms: 300 })

  it('ranks the model that the mode favors first', () => {
    const all = [cheap, good, fast]
    expect(names(all, 'cost')[0]).to.equal('cheap')
    expect(names(all, 'quality')[0]).to.equal('good')
    expect(names(all, 'latency')[0]).to.equal('fast')
  })

  it('scores the best model in every figure 1 and the worst 0', () => {
    const best = model('best', 'acme', { price: { input: 0.1, output: 0.1 }, quality: 99, latency_ms: 100 })
    const worst = model('worst', 'acme', { price: { input: 9, output: 9 }, quality: 1, latency_ms: 9000 })
    expect(rank([worst, best], 'balance')).to.deep.equal([
      { model: best, score: 1 },
      { model: worst, score: 0 },
    ])
  })

  it('weighs cost, quality and latency by mode', () => {
    const one = model('one', 'acme', { price: { input: 1, output: 1 }, quality: 20, latency_ms: 900 })
    const other = model('other', 'acme', { price: { input: 2, output: 2 }, quality: 80, latency_ms: 900 })
    const scores = (mode: keyof typeof WEIGHTS) =>
      Object.fromEntries(rank([one, other], mode).map(({ model, score }) => [model.id, score]))
    // `one` is cheaper, `other` has the higher quality, and both have the same latency.
    expect(scores('balance')).to.deep.equal({ one: 0.6, other: 0.6 })
    expect(scores('cost')).to.deep.equal({ one: 0.9, other: 0.2 })
    expect(scores('quality')).to.deep.equal({ one: 0.2, other: 0.9 })
  })

  it('breaks ties by id', () => {
    expect(names([model('b', 'acme'), model('a', 'other'), model('c', 'acme')], 'balance')).to.deep.equal([
      'a',
      'b',
      'c',
    ])
  })

  it('scores a single candidate 1', () => {
    expect(rank([good], 'cost')).to.deep.equal([{ model: good, score: 1 }])
  })

  it('compares prices by their ratio', () => {
    const priced = [1, 10, 100].map((price) =>
      model(`at-${price}`, 'acme', { price: { input: price, output: price } }),
    )
    const scores = rankModels(priced, requirements, { cost: 1, quality: 0, latency: 0 }, () => 1).map(
      ({ score }) => score,
    )
    expect(scores[1]).to.be.closeTo(0.5, 1e-9)
  })

  it('uses the price tier of the input length', () => {
    const tiered = model('tiered', 'acme', {
      price: { input: 1, output: 1, above: { input_tokens: 200_000, input: 4, output: 4 } },
    })
    const flat = model('flat', 'acme', { price: { input: 2, output: 2 } })
    const best = (inputTokens: number) =>
      rank([tiered, flat], 'cost', { ...requirements, inputTokens })[0]?.model.id
    expect(best(200_000)).to.equal('tiered')
    expect(best(200_001)).to.equal('flat')
  })

  it('ranks a free model', () => {
    const free = model('free', 'acme', { price: { input: 0, output: 0 } })
    expect(rank([good, free], 'cost')[0]).to.have.nested.property('model.id', 'free')
    for (const { score } of rank([good, free], 'cost')) expect(score).to.be.within(0, 1)
  })
})
