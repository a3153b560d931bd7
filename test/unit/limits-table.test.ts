import { expect } from 'chai'
import { readGenerated } from '../support/generated-text.ts'
import { writeLimitsTable } from '../support/limits-table.ts'

describe('the table of limits in docs/providers.md', () => {
  it('says what the adapters declare (npm run generate writes it)', () => {
    expect(readGenerated('docs/providers.md', 'limits')).to.equal(writeLimitsTable())
  })
})
