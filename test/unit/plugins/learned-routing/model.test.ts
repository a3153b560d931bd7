import { expect } from 'chai'
import { fromFloat16, toFloat16 } from '../../../../plugins/learned-routing/encode-numbers.ts'
import { createFeatureKey, extractFeatures } from '../../../../plugins/learned-routing/features.ts'
import {
  decodeWeights,
  encodeWeights,
  type ModelWeights,
  predict,
  WeightsError,
} from '../../../../plugins/learned-routing/model.ts'
import { ModelTable } from '../../../../plugins/learned-routing/model-table.ts'
import { createRandom } from '../../../support/random.ts'

const KEY = createFeatureKey('secret')
const features = (lastUserMessage: string) => extractFeatures({ lastUserMessage }, KEY)

function randomWeights(count: number): ModelWeights {
  const random = createRandom(3)
  const words = new Float32Array(65_536)
  for (let at = 0; at < count; at++)
    words[count === 65_536 ? at : random.integer(65_536)] = random.spread() - 1
  return { bias: 0.5, words, numbers: Float32Array.from({ length: 10 }, () => random.spread() - 1) }
}

describe('the weights of a model', () => {
  it('predict from the mean effect of words, numbers and a bias', () => {
    const words = new Float32Array(65_536)
    const numbers = new Float32Array(10)
    expect(predict({ bias: 0, words, numbers }, features('prove this'))).to.equal(0.5)
    for (const bucket of features('prove').indices) words[bucket] = 2
    // One bucket of three: two words and their pair.
    expect(predict({ bias: 1, words, numbers }, features('prove this'))).to.be.closeTo(
      1 / (1 + Math.exp(-1 - 2 / Math.sqrt(3))),
      1e-6,
    )
    numbers[0] = -1
    expect(predict({ bias: 0, words, numbers }, features('1+1'))).to.be.closeTo(1 / (1 + Math.exp(2)), 1e-6)
  })

  it('predict the same beside those of other models', () => {
    const models = [1, 5000, 65_536].map((count) => [`model-${count}`, randomWeights(count)] as const)
    const table = new ModelTable(models)
    for (const text of ['', 'prove this', 'Which of the following is a prime number? 7, 8, 9 or 10.']) {
      const prompt = features(text)
      const probabilities = table.predictAll(prompt)
      for (const [id, weights] of models)
        expect(probabilities[table.columnOf(id) ?? -1]).to.equal(predict(weights, prompt))
    }
    expect(table.columnOf('another')).to.equal(undefined)
  })

  it('predict the same after encoding, within half precision', () => {
    const weights = randomWeights(5000)
    const decoded = decodeWeights(encodeWeights(weights))
    expect(encodeWeights(decoded)).to.equal(encodeWeights(weights))
    const prompt = features('Which of the following is a prime number? 7, 8, 9 or 10.')
    expect(predict(decoded, prompt)).to.be.closeTo(predict(weights, prompt), 1e-3)
  })

  it('take less than 300 KB with all words', () => {
    expect(encodeWeights(randomWeights(65_536)).length).to.be.below(300_000)
  })

  it('leave out those with the least effect beyond a number of words', () => {
    const weights = randomWeights(5000)
    const kept = decodeWeights(encodeWeights(weights, 1000)).words
    const size = (bucket: number) => Math.abs(weights.words[bucket] as number)
    const buckets = [...kept.keys()].filter((bucket) => kept[bucket] !== 0)
    const others = [...kept.keys()].filter((bucket) => kept[bucket] === 0)
    expect(buckets).to.have.length(1000)
    expect(Math.min(...buckets.map(size))).to.be.at.least(
      others.reduce((max, at) => Math.max(max, size(at)), 0),
    )
  })

  it('are refused when they are damaged', () => {
    const text = encodeWeights(randomWeights(200))
    const bytes = Buffer.from(text, 'base64')
    const random = createRandom(5)
    for (let round = 0; round < 200; round++) {
      const damaged = Buffer.from(bytes)
      const at = random.integer(damaged.length)
      damaged[at] = (damaged[at] as number) ^ (1 << random.integer(8))
      expect(() => decodeWeights(damaged.toString('base64'))).to.throw(WeightsError)
    }
    for (const wrong of ['', 'AAAA', text.slice(0, -8), `${text.slice(0, 100)}${text.slice(108)}`]) {
      expect(() => decodeWeights(wrong)).to.throw(WeightsError)
    }
    const infinite = { ...randomWeights(10), bias: Number.POSITIVE_INFINITY }
    expect(() => decodeWeights(encodeWeights(infinite))).to.throw(WeightsError)
    for (const absurd of [Number.NaN, Number.NEGATIVE_INFINITY, 65_520]) {
      const { words, ...rest } = randomWeights(10)
      words[65_535] = absurd
      expect(() => decodeWeights(encodeWeights({ ...rest, words }))).to.throw(WeightsError)
    }
  })
})

describe('half precision', () => {
  it('reads back every number', () => {
    for (let half = 0; half < 65_536; half++) {
      const value = fromFloat16(half)
      if (!Number.isNaN(value) && toFloat16(value) !== half) expect.fail(`${half} became ${toFloat16(value)}`)
    }
    expect(fromFloat16(toFloat16(Number.NaN))).to.be.NaN
  })

  it('rounds to the nearest number, to an even one between two', () => {
    const known: [number, number][] = [
      [1, 0x3c00],
      [-2, 0xc000],
      [65_504, 0x7bff],
      [65_519, 0x7bff],
      [65_520, 0x7c00],
      [2 ** -24, 1],
      [2 ** -25, 0],
      [2 ** -14, 0x0400],
      [1 + 2 ** -11, 0x3c00],
      [1 + 3 * 2 ** -11, 0x3c02],
      [1.9999, 0x4000],
      [0.1, 0x2e66],
    ]
    for (const [value, half] of known) expect(toFloat16(value), `${value}`).to.equal(half)
  })
})
