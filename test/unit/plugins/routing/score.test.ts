import { expect } from 'chai'
import type { Model } from '../../../../core/contract/index.ts'
import { rankModels } from '../../../../plugins/routing/choose-model.ts'
import { WEIGHTS } from '../../../support/market.ts'
import { model } from '../../../support/models.ts'

const needs = { inputTokens: 1000, outputTokens: 500, tools: false, images: false, json: 0 }

const rank = (models: readonly Model[], mode: keyof typeof WEIGHTS, sized = needs) =>
  rankModels(models, sized, WEIGHTS[mode], ({ latency_ms }) => latency_ms)

const names = (models: readonly Model[], mode: keyof typeof WEIGHTS) =>
  rank(models, mode).map(({ model }) => model.id)

describe('ranking models', () => {
  const cheap = model('cheap', 'acme', { price: { input: 0.1, output: 0.4 }, quality: 30, latency_ms: 2000 })
  const good = model('good', 'acme', { price: { input: 10, output: 40 }, quality: 95, latency_ms: 6000 })
  const fast = model('fast', 'acme', { price: { input: 5, output: 20 }, quality: 40, latency_ms: 300 })

  it('puts first what the mode favours', () => {
    const all = [cheap, good, fast]
    expect(names(all, 'cost')[0]).to.equal('cheap')
    expect(names(all, 'quality')[0]).to.equal('good')
    expect(names(all, 'latency')[0]).to.equal('fast')
  })

  it('scores 1 for the best in everything and 0 for the worst', () => {
    const best = model('best', 'acme', { price: { input: 0.1, output: 0.1 }, quality: 99, latency_ms: 100 })
    const worst = model('worst', 'acme', { price: { input: 9, output: 9 }, quality: 1, latency_ms: 9000 })
    expect(rank([worst, best], 'balance')).to.deep.equal([
      { model: best, score: 1 },
      { model: worst, score: 0 },
    ])
  })

  it('weighs cost, quality and latency as the mode says', () => {
    const one = model('one', 'acme', { price: { input: 1, output: 1 }, quality: 20, latency_ms: 900 })
    const other = model('other', 'acme', { price: { input: 2, output: 2 }, quality: 80, latency_ms: 900 })
    const scores = (mode: keyof typeof WEIGHTS) =>
      Object.fromEntries(rank([one, other], mode).map(({ model, score }) => [model.id, score]))
    // Cost is one's, quality the other's, and latency, which is equal, both's.
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

  it('gives a lone candidate the score 1', () => {
    expect(rank([good], 'cost')).to.deep.equal([{ model: good, score: 1 }])
  })

  it('takes a doubled price for the same step, wherever it stands', () => {
    const priced = [1, 10, 100].map((price) =>
      model(`at-${price}`, 'acme', { price: { input: price, output: price } }),
    )
    const scores = rankModels(priced, needs, { cost: 1, quality: 0, latency: 0 }, () => 1).map(
      ({ score }) => score,
    )
    expect(scores[1]).to.be.closeTo(0.5, 1e-9)
  })

  it('counts the price tier that the input reaches', () => {
    const tiered = model('tiered', 'acme', {
      price: { input: 1, output: 1, above: { input_tokens: 200_000, input: 4, output: 4 } },
    })
    const flat = model('flat', 'acme', { price: { input: 2, output: 2 } })
    const best = (inputTokens: number) => rank([tiered, flat], 'cost', { ...needs, inputTokens })[0]?.model.id
    expect(best(200_000)).to.equal('tiered')
    expect(best(200_001)).to.equal('flat')
  })

  it('knows what to do with a model that is free', () => {
    const free = model('free', 'acme', { price: { input: 0, output: 0 } })
    expect(rank([good, free], 'cost')[0]).to.have.nested.property('model.id', 'free')
    for (const { score } of rank([good, free], 'cost')) expect(score).to.be.within(0, 1)
  })
})
