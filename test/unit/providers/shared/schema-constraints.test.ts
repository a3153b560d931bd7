import { expect } from 'chai'
import { findConstraints } from '../../../../providers/shared/schema-constraints.ts'

describe('the constraints of a JSON Schema', () => {
  it('are found at any depth', () => {
    const items = {
      anyOf: [
        { type: 'string', pattern: '^a' },
        { type: 'integer', minimum: 1 },
      ],
    }
    const schema = { $defs: { list: { type: 'array', items, minItems: 2 } }, not: {} }
    expect(findConstraints(schema)).to.deep.equal(['minItems', 'minimum', 'not', 'pattern'])
  })

  it('are neither names of properties, values, nor lists that are not empty', () => {
    const properties = { pattern: { type: 'string', enum: ['not'], default: { not: 1 } } }
    expect(findConstraints({ properties, required: ['pattern'], minItems: 1 })).to.deep.equal([])
    expect(findConstraints(undefined)).to.deep.equal([])
  })
})
