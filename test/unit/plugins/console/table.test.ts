import { expect } from 'chai'
import { parseSort, sortRows, toCsv, toSortParameter } from '../../../../plugins/console/app/lib/table.ts'

describe('the rows of a table', () => {
  const own = (value: string | number | null | undefined) => value

  it('are sorted by numbers and by texts with numbers, and those without a value come last', () => {
    expect(sortRows([3, null, 20, 1], own, false)).to.deep.equal([1, 3, 20, null])
    expect(sortRows([3, null, 20, 1], own, true)).to.deep.equal([20, 3, 1, null])
    expect(sortRows(['user 10', '', 'user 9', undefined], own, true)).to.deep.equal([
      'user 10',
      'user 9',
      '',
      undefined,
    ])
  })

  it('keep their order where values are equal, in both directions', () => {
    const rows = ['b1', 'a1', 'b2', 'a2']
    const letter = (row: string) => row.charAt(0)
    expect(sortRows(rows, letter, false)).to.deep.equal(['a1', 'a2', 'b1', 'b2'])
    expect(sortRows(rows, letter, true)).to.deep.equal(['b1', 'b2', 'a1', 'a2'])
  })

  it('have an order that an address names', () => {
    for (const text of ['Cost', '-Cost', '-Tokens in'])
      expect(toSortParameter(parseSort(text))).to.equal(text)
    for (const text of [null, '']) expect(parseSort(text)).to.equal(undefined)
  })

  it('are exported with their values, none of which a spreadsheet runs', () => {
    const columns = [
      { title: 'Name', value: ({ name }: { name: string | null }) => name },
      { title: 'Buttons' },
      { title: 'Letters', value: ({ name }: { name: string | null }) => name?.length },
    ]
    const rows = [
      { name: '=cmd()' },
      { name: 'a "b", c' },
      { name: 'two\nlines' },
      { name: null },
      { name: '＝1' },
    ]
    expect(toCsv(columns, rows)).to.equal(
      `Name,Letters\r\n'=cmd(),6\r\n"a ""b"", c",8\r\n"two\nlines",9\r\n,\r\n'＝1,2\r\n`,
    )
  })
})
