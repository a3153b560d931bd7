import { expect } from 'chai'
import { createCatalog } from '../../../../providers/shared/catalog.ts'
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

  it('finds the model of one provider', () => {
    expect(catalog.find('loco', 'other')).to.equal(copy)
    expect(catalog.find('engine', 'other')).to.equal(undefined)
  })

  it('does not find what is not there, nor what every object has', () => {
    expect(catalog.find('Loco')).to.equal(undefined)
    expect(catalog.find('constructor')).to.equal(undefined)
  })

  it('finds the model of a provider that is configured first', () => {
    const found = createCatalog([loco, copy], (provider) => provider === 'other').find('loco')
    expect(found).to.equal(copy)
  })

  it('keeps the order of its rows', () => {
    expect(createCatalog([loco, copy, tender], () => false).models).to.deep.equal([loco, copy, tender])
  })
})
