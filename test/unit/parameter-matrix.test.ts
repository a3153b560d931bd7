import { expect } from 'chai'
import { readGenerated } from '../support/generated-text.ts'
import { writeParameterMatrix } from '../support/parameter-matrix.ts'

describe('the table of parameters in docs/parameters.md', () => {
  const table = writeParameterMatrix()

  it('says what the adapters do (npm run generate writes it)', () => {
    expect(readGenerated('docs/parameters.md', 'parameters')).to.equal(table)
  })

  it('knows every fate of a parameter', () => {
    for (const fate of ['passed', 'converted', 'clamped', 'changed', 'left out', 'ignored', 'refused'])
      expect(table).to.match(new RegExp(`[|/] ${fate} [|/]`))
  })
})
