import { expect } from 'chai'
import { formatMs } from '../../../../plugins/console/app/lib/format.ts'

describe('formatMs', () => {
  it('uses the unit that is easy to read', () => {
    const times = [0, 999, 2345, 12_345, 119_400, 185_000, 3_569_000, 3_599_000, 7_440_000]
    expect(times.map(formatMs)).to.deep.equal([
      ...['0 ms', '999 ms', '2.35 s', '12.3 s', '119.4 s'],
      ...['3 min 5 s', '59 min 29 s', '1 h 0 min', '2 h 4 min'],
    ])
    expect(formatMs(null)).to.equal('–')
  })
})
