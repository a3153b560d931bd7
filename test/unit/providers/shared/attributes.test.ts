import { expect } from 'chai'
import {
  attributesOf,
  describeRequirement,
  mergeRequirements,
  satisfies,
} from '../../../../providers/shared/attributes.ts'

describe('attributes of models and deployments', () => {
  it('meet a requirement only if they are stated', () => {
    const full = { region: 'eu', zdr: true, retention_days: 0, trains_on_data: false }
    expect(satisfies(undefined, {})).to.equal(true)
    expect(satisfies({}, {})).to.equal(true)
    expect(satisfies(full, full)).to.equal(true)
    for (const name of Object.keys(full)) {
      const { [name as keyof typeof full]: _, ...others } = full
      expect(satisfies(full, others), name).to.equal(false)
      expect(satisfies(full, { ...full, [name]: undefined }), name).to.equal(false)
    }
    expect(satisfies({ zdr: true }, { zdr: false, retention_days: 0 })).to.equal(false)
    expect(satisfies({ trains_on_data: false }, { trains_on_data: true })).to.equal(false)
    expect(satisfies({ retention_days: 7 }, { retention_days: 0 })).to.equal(true)
    expect(satisfies({ retention_days: 7 }, { retention_days: 8 })).to.equal(false)
  })

  it('are in a region if they name it or one of its members', () => {
    const isIn = (wanted: string, region: string) => satisfies({ region: wanted }, { region })
    for (const region of ['eu', 'EU', 'eu-west-1', 'europe-west4', 'westeurope', 'swedencentral'])
      expect(isIn('eu', region), region).to.equal(true)
    for (const region of ['us', 'eu-west-2', 'europe-west2', 'europe-west6', 'uksouth', 'europe', 'euro', ''])
      expect(isIn('eu', region), region).to.equal(false)
    expect(isIn('us', 'us-east-1')).to.equal(true)
    expect(isIn('us-east-1', 'us')).to.equal(false)
    expect(isIn('us', 'australiaeast')).to.equal(false)
    expect(satisfies({ region: ['eu', 'us'] }, { region: 'eu' })).to.equal(false)
  })

  it('come from the most specific source that states them', () => {
    const row = { region: 'us', zdr: true }
    expect(attributesOf({ region: 'eu' }, undefined, row)).to.deep.equal({ region: 'eu', zdr: true })
    expect(attributesOf({ zdr: false }, row)).to.deep.equal({ region: 'us', zdr: false })
    expect(attributesOf(undefined)).to.deep.equal({})
  })

  it('of several requirements all are demanded', () => {
    const merge = mergeRequirements
    expect(merge(undefined, { region: 'eu' })).to.deep.equal({ region: 'eu' })
    expect(merge({ region: 'eu' }, { zdr: true })).to.deep.equal({ region: 'eu', zdr: true })
    expect(merge({ region: 'eu-west-1' }, { region: 'eu' })).to.deep.equal({ region: 'eu-west-1' })
    expect(merge({ region: 'EU' }, { region: 'eu' })).to.deep.equal({ region: 'eu' })
    expect(merge({ retention_days: 0 }, { retention_days: 30 })).to.deep.equal({ retention_days: 0 })
    const both = merge({ region: 'eu', retention_days: 30 }, { region: 'us', retention_days: 7 })
    expect(both).to.deep.equal({ region: ['eu', 'us'], retention_days: 7 })
    expect(describeRequirement(both)).to.equal('region eu, region us, retention_days 7')
    expect(describeRequirement({ region: 'eu', zdr: true, trains_on_data: false })).to.equal(
      'region eu, zdr, trains_on_data false',
    )
  })
})
