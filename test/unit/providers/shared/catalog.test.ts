import { expect } from 'chai'
import { createCatalog, isRetired, limitRequest } from '../../../../providers/shared/catalog.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme', { aliases: ['engine'] })
const copy = model('loco', 'other')
const tender = model('tender:v2', 'other')

describe('a model that its provider retires', () => {
  const DAY_MS = 86_400_000
  const today = '2026-03-01'
  const realNow = Date.now
  afterEach(() => {
    Date.now = realNow
  })

  it('is retired from the beginning of that day in UTC', () => {
    for (const [retires, days] of [
      ['2026-02-28', 0],
      [today, 0],
      ['2026-03-02', 1],
    ] as const) {
      const midnight = Date.parse(today) + days * DAY_MS
      Date.now = () => midnight - 1
      const isBefore = isRetired({ retires })
      Date.now = () => midnight
      expect([isBefore, isRetired({ retires })], retires).to.deep.equal([retires < today, true])
    }
    expect(isRetired({})).to.equal(false)
  })
})

describe('the catalogue', () => {
  const catalog = createCatalog([loco, copy, tender])

  it('finds a model by its id and by an alias', () => {
    expect(catalog.find('loco')).to.equal(loco)
    expect(catalog.find('engine')).to.equal(loco)
    expect(catalog.find('tender:v2')).to.equal(tender)
  })

  it('finds a model of one provider', () => {
    expect(catalog.find('loco', 'other')).to.equal(copy)
    expect(catalog.find('engine', 'other')).to.equal(undefined)
  })

  it('finds a model in any letter case, with dashes for dots, and with a date', () => {
    expect(catalog.match('LOCO')).to.deep.equal({ model: loco, name: 'loco', isDated: false })
    expect(catalog.match('Engine')).to.deep.equal({ model: loco, name: 'engine', isDated: false })
    expect(catalog.find('Tender:V2', 'other')).to.equal(tender)
    const dated = { model: loco, name: 'loco-2026-01-31', isDated: true }
    expect(catalog.match('loco-2026-01-31')).to.deep.equal(dated)
    expect(catalog.find('engine-20260131')).to.equal(loco)
    expect(catalog.find('engine-20260131', 'other')).to.equal(undefined)
    const pointed = createCatalog([model('opus-4-6', 'acme'), model('gpt-5.1', 'acme')])
    expect(pointed.find('opus-4.6')?.id).to.equal('opus-4-6')
    expect(pointed.find('gpt-5-1')?.id).to.equal('gpt-5.1')
  })

  it('replaces its rows, and keeps the objects of unchanged ones', () => {
    const replaced = createCatalog([loco, tender])
    const dearer = { ...tender, price: { input: 9, output: 9 } }
    replaced.replace([{ ...loco }, dearer, copy])
    expect(replaced.find('loco')).to.equal(loco)
    expect(replaced.find('tender:v2')).to.equal(dearer)
    expect(replaced.models).to.have.length(3)
    replaced.replace([])
    expect(replaced.find('loco')).to.equal(undefined)
  })

  it('does not find unknown names, nor properties of every object', () => {
    expect(catalog.find('constructor')).to.equal(undefined)
  })

  it('prefers the model of a configured provider', () => {
    const found = createCatalog([loco, copy], (provider) => provider === 'other').find('loco')
    expect(found).to.equal(copy)
  })

  it('keeps the order of the rows', () => {
    expect(createCatalog([loco, copy, tender], () => false).models).to.deep.equal([loco, copy, tender])
  })
})

const messages = [{ role: 'user' as const, content: 'Hi' }]
const noCapabilities = { json: 'none', logit_bias: false, seed: false } as const

describe('limiting a request to the capabilities of a provider', () => {
  it('removes and reports logit_bias and seed', () => {
    const { request, omitted } = limitRequest(
      { messages, seed: 0, logit_bias: { 5: 1 }, top_p: 1 },
      noCapabilities,
    )
    expect(request).to.deep.equal({ messages, top_p: 1 })
    expect(omitted).to.have.members(['seed', 'logit_bias'])
  })

  it('keeps supported fields', () => {
    const request = { messages, seed: 1, logit_bias: { 5: 1 } }
    const limited = limitRequest(request, { json: 'none', logit_bias: true, seed: true })
    expect(limited).to.deep.equal({ request, omitted: [] })
  })

  it('does not report fields that are not set', () => {
    const request = { messages, seed: null }
    expect(limitRequest(request, noCapabilities)).to.deep.equal({ request, omitted: [] })
  })

  it('does not modify the request', () => {
    const request = Object.freeze({ messages, seed: 1 })
    limitRequest(request, noCapabilities)
    expect(request).to.have.property('seed')
  })
})
