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

const KEY = createFeatureKey('a secret for kept versions')
const TEXTS = 40

/**
 * Units of texts, SHA-256 of their features and of the predictions from these, as computed by an earlier
 * implementation, which noted buckets in order of appearance.
 */
const SCRIPTS = {
  latin: [
    'aabbeeioostn XYZÉß019  .,?!\n\t{}()é',
    'f40ce07ee370ed0b08a797d7cd3c2f310f33eb5b0be69664bbccec5e757a820f',
    'af848f2a445af53ee66bf19770b288a2b2d44ef0f2ee9362fe31523495ed3b27',
  ],
  cyrillic_and_greek: [
    'приветмир ДОМ ёλόγος ΣΑΣ 12,.?\n',
    '3d538caef0c7568235e579b632aba193d7752f65564c0b80bc4adc380fd07d9b',
    '936b721e29eaa7c8db549a4ea88baedd0eaa52151a2d5d3ffe93311f23c249c6',
  ],
  without_spaces: [
    '東京都ひらがなカタカナสวัสดี한국 ？。\n',
    '9c1e53ed691c6f70c15fcce97ac50f53ef682dce20021e7b793f58cf1d92064e',
    'f87f8563d9fee54325b2bad6cf7ee50681c869fc3fad30fe861f9db66e5149e3',
  ],
  right_to_left: [
    'مرحبا بكم שלום ١٢٣ ؟،\u200f\n',
    '7907d701b82ec6f3822c54f4329118e8e773bfcc4c6bdc3f394b4476e67840f8',
    'c5f0af7cbadfb0f1f25883421e3159387ad836ad58c00cfe9e5f4fcc169e72cc',
  ],
  mixed_with_halves: [
    'aB 7😀👍🏽\ud83d \ude00東ßİﷺ\u0000\uffff\n',
    'f6f596c9b5e0013cf1de6a2e3ad6d359e0b76766973153d1c3816a0ec33f2cc8',
    '343b2e04467a20625f88e684b53b68a9b58df9f3a5e8a49830aa870f1389f53f',
  ],
} as const

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

  for (const [script, [units, encoded, predicted]] of Object.entries(SCRIPTS)) {
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
      expect([ofFeatures.digest('hex'), ofPredictions.digest('hex')]).to.deep.equal([encoded, predicted])
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
