import { expect } from 'chai'
import { createSharedQuota } from '../../../../core/util/shared-quota.ts'

describe('a shared quota', () => {
  it('limits each owner and all together, and takes nothing beyond', () => {
    const quota = createSharedQuota<string>({ perOwner: 3, total: 5 })
    expect(quota.take('a', 3)).to.equal(undefined)
    expect(quota.take('a', 1)).to.equal('perOwner')
    expect(quota.take('b', 3)).to.equal('total')
    expect(quota.take('b', 2)).to.equal(undefined)
    expect(quota.take('c', 1)).to.equal('total')
    quota.release('a', 1)
    expect(quota.take('c', 1)).to.equal(undefined)
    expect(quota.take('a', 1)).to.equal('total')
    quota.release('b', 2)
    expect(quota.take('a', 1)).to.equal(undefined)
    expect(quota.take('b', 1)).to.equal(undefined)
  })
})
