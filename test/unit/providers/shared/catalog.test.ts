import { expect } from 'chai'
import { createCatalog, limitRequest } from '../../../../providers/shared/catalog.ts'
import { model } from '../../../support/models.ts'

const loco = model('loco', 'acme', { aliases: ['engine'] })
const copy = model('loco', 'other')
const tender = model('tender:v2', 'other')

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

  it('does not find unknown names, nor properties of every object', () => {
    expect(catalog.find('Loco')).to.equal(undefined)
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
