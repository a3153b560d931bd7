import { expect } from 'chai'
import fc from 'fast-check'
import { inRounds } from '../support/property.ts'
import { REQUESTS, type ToolDialect } from '../support/request-arbitraries.ts'
import { ROUNDS } from '../support/rounds.ts'
import {
  combinations,
  encodeReply,
  refusalOf,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

const DIALECTS: readonly ToolDialect[] = ['chat', 'messages', 'responses']

describe('random valid requests', () => {
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
      const requests: fc.Arbitrary<object> = REQUESTS[combination.dialect as ToolDialect]
      const isAccepted = fc.asyncProperty(requests, fc.boolean(), async (body, stream) => {
        refusal = undefined
        const asked = await bench.ask({ ...combination, stream }, { body })
        expect(refusal).to.equal(undefined)
        expect(asked.status, asked.raw).to.equal(200)
      })
      await fc.assert(isAccepted, inRounds(ROUNDS.validRequests))
    })
})
