import { expect } from 'chai'
import { parseCsv } from '../../../bench/parse-csv.ts'

describe('CSV of the benchmark of routers', () => {
  it('has quoted cells with quotes, commas and lines', () => {
    expect(parseCsv('prompt,a,b\n"x, ""y""\nA. 1",True,False\r\nplain,,True\n')).to.deep.equal([
      ['prompt', 'a', 'b'],
      ['x, "y"\nA. 1', 'True', 'False'],
      ['plain', '', 'True'],
    ])
  })
})
