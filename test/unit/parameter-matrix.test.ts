import { expect } from 'chai'
import { readGenerated } from '../support/generated-text.ts'
import { writeEffortTable, writeParameterMatrix } from '../support/parameter-matrix.ts'

describe('the tables of parameters in docs/parameters.md', () => {
  const table = writeParameterMatrix()

  it('says what the adapters do (npm run generate writes it)', () => {
    expect(readGenerated('docs/parameters.md', 'parameters')).to.equal(table)
    expect(readGenerated('docs/parameters.md', 'efforts')).to.equal(writeEffortTable())
  })

  it('knows every fate of a parameter', () => {
    for (const fate of ['passed', 'converted', 'clamped', 'changed', 'left out', 'ignored', 'refused'])
      expect(table).to.match(new RegExp(`[|/] ${fate}(?::.*?)? [|/]`))
  })
})
