import { expect } from 'chai'
import { createMemoryAuthFailureCounter, MAX_ADDRESSES } from '../../../../plugins/auth/auth-failures.ts'

describe('in-memory authentication failure counter', () => {
  it('keeps only the most recent addresses', async () => {
    const failures = createMemoryAuthFailureCounter(60)
    await failures.count('first')
    expect((await failures.count('first')).used).to.equal(2)
    for (let number = 0; number < MAX_ADDRESSES; number++) await failures.count(`address ${number}`)
    expect((await failures.count('first')).used).to.equal(1)
    expect((await failures.count(`address ${MAX_ADDRESSES - 1}`)).used).to.equal(2)
  })

  it('resets an address when the window of its first failure ends', async () => {
    const failures = createMemoryAuthFailureCounter(0.2)
    const { resetMs } = await failures.count('someone')
    expect(resetMs).to.be.within(1, 200)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await failures.count('someone')).used).to.equal(2)
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect((await failures.count('someone')).used).to.equal(1)
  })
})
