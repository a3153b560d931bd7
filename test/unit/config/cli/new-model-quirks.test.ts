import { expect } from 'chai'
import { findNewQuirks } from '../../../../config/cli/new-model-quirks.ts'
import type { ListedFacts } from '../../../../config/prices/price-list.ts'
import { combineModels, NO_OWN_MODELS, readShippedModels } from '../../../../config/settings/model-list.ts'

/** Of OpenAI's models in the catalogue, GPT-5.4 is the oldest that takes tools in the Responses API only. */
const rows = combineModels(readShippedModels(), [], NO_OWN_MODELS)

type Listed = Partial<Pick<ListedFacts, 'reasoning' | 'responses'>>

function quirksOf(model: string, listed: Listed = { reasoning: true }, provider = 'openai') {
  const facts = { reasoning: false, responses: undefined, ...listed } as ListedFacts
  return findNewQuirks(rows, { provider, model, prices: new Map(), facts })
}

describe('the quirks of a new model', () => {
  it('are what the list says', () => {
    expect(quirksOf('gpt-5.4-pro', { reasoning: true, responses: 'always' })).to.deep.equal({
      responses: 'always',
    })
    expect(quirksOf('gpt-9', { reasoning: true, responses: false })).to.deep.equal({})
  })

  for (const model of ['gpt-5.4-micro', 'gpt-5.10', 'gpt-7-sol', 'gpt-10.1', 'o5', 'gpt-next']) {
    it(`are those of the newest models of OpenAI for ${model}`, () => {
      expect(quirksOf(model)).to.deep.equal({ responses: true })
    })
  }

  for (const model of ['gpt-5.3-chat-latest', 'gpt-5-large', 'gpt-4.5']) {
    it(`are none for ${model}, which is older`, () => {
      expect(quirksOf(model)).to.deep.equal({})
    })
  }

  it('are none for models that do not reason, and those of other providers', () => {
    expect(quirksOf('gpt-7-chat', { reasoning: false })).to.deep.equal({})
    expect(quirksOf('gemini-9', { reasoning: true }, 'gemini')).to.deep.equal({})
  })
})
