import { expect } from 'chai'
import {
  combinations,
  FORMATS,
  type FormatName,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

/** What each provider gets if the caller of `/v1/responses` sets no temperature. */
const SENT: Readonly<Record<FormatName, number | undefined>> = {
  openai: 1,
  responses: undefined,
  anthropic: 1,
  gemini: 1,
  mistral: 1,
  // It thinks.
  deepseek: undefined,
  compatible: 1,
}

describe('the temperature of /v1/responses', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  const sampling = ({ body }: ProviderCall = bench.calls.at(-1)!) => body.generationConfig ?? body

  for (const { title, ...combination } of combinations(['responses'])) {
    it(`is 1 by default where the model takes it (${title})`, async () => {
      const { status, body, records, warnings } = await bench.ask(combination)
      expect(status).to.equal(200)
      expect(sampling().temperature).to.equal(SENT[combination.format])
      const response = body ?? records.at(-1).response
      expect(response).to.include({ temperature: 1, top_p: 1 })
      expect(warnings).to.deep.equal([])
    })
  }

  it("is the caller's, or left out beside a top_p", async () => {
    const combination = { dialect: 'responses', format: 'anthropic', stream: false } as const
    await bench.ask(combination, { body: { temperature: 0.3 } })
    expect(sampling().temperature).to.equal(0.3)
    const { warnings } = await bench.ask(combination, { body: { top_p: 0.5 } })
    expect(sampling()).to.include({ top_p: 0.5 }).and.not.have.property('temperature')
    expect(warnings).to.deep.equal([])
  })

  it('is not sent to models that the catalogue does not have, nor by other endpoints', async () => {
    const combination = { dialect: 'responses', format: 'openai', stream: false } as const
    await bench.ask(combination, { body: { model: 'gpt-9' } })
    expect(bench.calls.at(-1)?.body).to.include({ model: 'gpt-9' }).and.not.have.property('temperature')
    await bench.ask({ ...combination, dialect: 'chat' })
    expect(sampling()).not.to.have.property('temperature')
  })

  it('does not influence the automatic choice', async () => {
    const models: string[] = []
    for (const body of [{ model: 'auto:quality' }, { model: 'auto:quality', temperature: 0.5 }]) {
      const combination = { dialect: 'responses', format: 'openai', stream: false } as const
      models.push((await bench.ask(combination, { body })).body.model)
    }
    expect(models[0]).not.to.equal(models[1])
    expect(FORMATS.openai.model).not.to.contain(models[0])
  })
})
