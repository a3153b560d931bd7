import { expect } from 'chai'
import { toLinePath } from '../../../../plugins/console/app/lib/figures.ts'

describe('the line of a chart', () => {
  const path = (...values: (number | null)[]) =>
    toLinePath(
      values,
      (index) => index,
      (value) => value,
    )

  it('is interrupted where there is no value', () => {
    expect(path(1, 2, null, 3, 4)).to.equal('M0.0 1.0L1.0 2.0M3.0 3.0L4.0 4.0')
    expect(path(null, null)).to.equal('')
  })

  it('has a dot for a value between gaps, or alone', () => {
    expect(path(null, 5, null, 1, 2)).to.equal('M1.0 5.0h0M3.0 1.0L4.0 2.0')
    expect(path(7)).to.equal('M0.0 7.0h0')
  })
})
