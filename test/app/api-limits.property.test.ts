import { expect } from 'chai'
import { createRandom } from '../support/random.ts'
import { randomRequest, type ToolDialect } from '../support/random-requests.ts'
import { ROUNDS } from '../support/rounds.ts'
import {
  combinations,
  encodeReply,
  refusalOf,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const SEED = Number(process.env.LIMITS_SEED ?? 20261126)
const DIALECTS: readonly ToolDialect[] = ['chat', 'messages', 'responses']

describe(`random valid requests (seed ${SEED})`, () => {
  let bench: TranslationBench
  let refusal: string | undefined

  before(async () => {
    bench = await startTranslationBench()
    bench.respond((call) => {
      refusal = refusalOf(call)
      return encodeReply(call, {})
    })
  })
  after(() => bench?.close())

  for (const { title, ...combination } of combinations(DIALECTS).filter(({ stream }) => !stream))
    it(`become bodies that the API accepts: ${title}`, async () => {
      const random = createRandom(SEED)
      for (let count = 0; count < ROUNDS.validRequests; count++) {
        refusal = undefined
        const body = randomRequest(random, combination.dialect as ToolDialect)
        const asked = await bench.ask({ ...combination, stream: random.chance(0.3) }, { body })
        expect(refusal, `request ${count}: ${JSON.stringify(body)}`).to.equal(undefined)
        expect(asked.status, `request ${count}: ${asked.raw}\n${JSON.stringify(body)}`).to.equal(200)
      }
    })
})
