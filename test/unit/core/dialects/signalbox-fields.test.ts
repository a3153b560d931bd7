import { expect } from 'chai'
import { buildMetadata } from '../../../../core/dialects/signalbox-fields.ts'

const FIELDS = {
  provider: 'openai',
  routing_mode: null,
  rules_position: 7,
  cost_usd: 0.5,
  warnings: [{ code: 'plan', message: 'Hm' }],
  rule_trace: [],
}

describe('the metadata of an answer', () => {
  it("is a map of strings: the caller's own entries, then the gateway's", () => {
    expect(JSON.stringify(buildMetadata({ team: 'red', provider: 'acme' }, FIELDS, 'openai'))).to.equal(
      JSON.stringify({
        team: 'red',
        provider: 'acme',
        rules_position: '7',
        cost_usd: '0.5',
        warnings: '[{"code":"plan","message":"Hm"}]',
      }),
    )
  })

  it('has at most 16 entries, and values of at most 512 characters', () => {
    const own = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`tag${index}`, 'x']))
    expect(buildMetadata(own, FIELDS, 'openai')).to.deep.equal({ ...own, provider: 'openai' })
    const full = { ...own, more: 'y' }
    expect(buildMetadata(full, FIELDS, 'openai')).to.deep.equal(full)
    const long = { rules_position: 7, warnings: [{ code: 'plan', message: 'x'.repeat(600) }] }
    expect(buildMetadata(undefined, long, 'openai')).to.deep.equal({ rules_position: '7' })
  })

  it("keeps the types in the interface's form, and the caller's own entries", () => {
    const metadata = buildMetadata({ provider: 'acme', team: 1 }, FIELDS, 'interface')
    expect(metadata).to.deep.equal({ ...FIELDS, provider: 'acme', team: 1 })
  })
})
