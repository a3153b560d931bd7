import { createHash } from 'node:crypto'
import { expect } from 'chai'
import type { Exchange } from '../../../../core/contract/index.ts'
import { createPromptAssessor } from '../../../../plugins/learned-routing/assess-prompt.ts'
import {
  createFeatureKey,
  decodeFeatures,
  encodeFeatures,
  encodeFeaturesAsText,
  extractFeatures,
  scanPrompt,
} from '../../../../plugins/learned-routing/features.ts'
import { decodeWeights, encodeWeights } from '../../../../plugins/learned-routing/model.ts'
import { ModelTable } from '../../../../plugins/learned-routing/model-table.ts'
import { RecordedFeatures } from '../../../../plugins/ledger/index.ts'
import { createRandom } from '../../../support/random.ts'
import { readVectors } from '../../../support/vectors.ts'

const KEY = createFeatureKey('a secret for kept versions')
const TEXTS = 40

interface KeptScript {
  readonly script: string
  readonly units: string
  readonly features: string
  readonly predictions: string
}

/** Texts of up to 2,000 units; one of each script is longer than what is read of a message. */
function randomPrompts(units: string) {
  const random = createRandom(25)
  return Array.from({ length: TEXTS }, (_, at) => {
    const length = at === 0 ? 20_000 : random.integer(random.integer(2000) + 1)
    let lastUserMessage = ''
    while (lastUserMessage.length < length) lastUserMessage += units[random.integer(units.length)]
    return { lastUserMessage, ...(random.chance(0.3) && { systemPrompt: lastUserMessage.slice(3) }) }
  })
}

/** As a version is loaded: weights in half precision. */
function randomTable(): ModelTable {
  const random = createRandom(3)
  const models = Array.from({ length: 5 }, (_, at) => {
    const words = Float32Array.from({ length: 65_536 }, () => random.spread() - 1)
    const numbers = Float32Array.from({ length: 10 }, () => (random.spread() - 1) / 10)
    return [`model-${at}`, decodeWeights(encodeWeights({ bias: at / 7, words, numbers }))] as const
  })
  return new ModelTable(models)
}

describe('features and predictions of versions that were trained earlier', () => {
  const table = randomTable()

  for (const { script, units, ...kept } of readVectors<readonly KeptScript[]>('prompt-features')) {
    it(`stay the same bit for bit: ${script}`, () => {
      const [ofFeatures, ofPredictions] = [createHash('sha256'), createHash('sha256')]
      for (const prompt of randomPrompts(units)) {
        const features = extractFeatures(prompt, KEY)
        const bytes = encodeFeatures(features)
        ofFeatures.update(bytes)
        const probabilities = table.predictAll(features)
        ofPredictions.update(probabilities.slice(0, 5))
        expect(table.predictAll(decodeFeatures(bytes))).to.deep.equal(probabilities)
        expect(scanPrompt(prompt, KEY)).to.deep.equal(features)
        expect(encodeFeaturesAsText(features)).to.equal(Buffer.from(bytes).toString('base64'))
      }
      expect({ features: ofFeatures.digest('hex'), predictions: ofPredictions.digest('hex') }).to.deep.equal(
        kept,
      )
    })
  }

  it('belong to their request when the next one is assessed before it is used', () => {
    const assess = createPromptAssessor({ learned: 'on', explore: 0 }, KEY, () => ({
      version: 1,
      models: table,
    }))
    const exchangeOf = (content: string) =>
      ({
        id: 'x',
        request: { messages: [{ role: 'user', content }] },
        account: { userId: 1 },
        state: {},
      }) as unknown as Exchange
    const texts = ['Write a haiku about the sea', 'prove this']
    const exchanges = texts.map(exchangeOf)
    const assessments = exchanges.map(assess)
    const featuresOf = (at: number) => RecordedFeatures.of(exchanges[at] ?? { state: {} })
    for (const [at, lastUserMessage] of texts.entries()) {
      const features = extractFeatures({ lastUserMessage }, KEY)
      expect(assessments[at]?.probabilityOf('model-2')).to.equal(table.predictAll(features)[2])
      expect(featuresOf(at)).to.equal(encodeFeaturesAsText(features))
    }
    expect(featuresOf(0)).to.not.equal(featuresOf(1))
  })
})
