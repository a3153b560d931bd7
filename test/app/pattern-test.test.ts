import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'
import { readVectors } from '../support/vectors.ts'

describe('POST /admin/pattern-test', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const test = async (body: object) => {
    const answer = await asAdmin(gateway, 'POST', '/admin/pattern-test', { type: 'regex', ...body })
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body.data
  }

  interface MatchCase {
    readonly title: string
    readonly rule: object
    readonly matches: readonly (readonly [start: number, end: number])[]
    readonly masked: string
  }

  for (const { title, rule, matches, masked } of readVectors<readonly MatchCase[]>('pattern-matches'))
    it(`finds the matches of ${title}, as rules do`, async () => {
      const found = await test(rule)
      expect(
        found.matches.map(({ start, end }: { start: number; end: number }) => [start, end]),
      ).to.deep.equal(matches)
      expect(found).to.include({
        masked,
        is_match: matches.length > 0,
        pattern_error: null,
        is_finished: true,
      })
    })

  it('says that a pattern matches nothing but empty text', async () => {
    expect(await test({ pattern: 'z*', text: 'abc' })).to.deep.include({
      is_match: true,
      matches: [],
      masked: 'abc',
    })
  })

  it('says why a pattern cannot be evaluated, and that one did not finish', async () => {
    expect((await test({ pattern: '(open', text: 'x' })).pattern_error).to.be.a('string')
    const slow = { pattern: '(a+)+(?![a!])', text: `${'a'.repeat(5000)}!` }
    expect(await test(slow)).to.include({ is_finished: false, masked: null })
  })

  it('limits the matches', async () => {
    const { matches, is_truncated } = await test({ pattern: 'a', text: 'a'.repeat(1500) })
    expect([matches.length, is_truncated]).to.deep.equal([1000, true])
  })

  it('has the matches also of a mask that would make the text too long', async () => {
    const text = 'a'.repeat(1000)
    const found = await test({ pattern: 'a', text, replacement: 'b'.repeat(1000) })
    expect(found).to.include({ is_match: true, is_truncated: false, masked: null, is_finished: false })
    expect(found.matches).to.have.length(1000)
  })

  it('needs no text to say whether a pattern can be evaluated', async () => {
    expect(await test({ pattern: 'a', text: '' })).to.include({ pattern_error: null, is_match: false })
    expect((await test({ pattern: 'a)', text: '' })).pattern_error).to.be.a('string')
  })

  it('is for operators; users with rules have their own', async () => {
    const body = { type: 'regex', pattern: 'a', text: 'ab' }
    const user = await newUser(gateway, 'paid')
    expect((await user.call('POST', '/admin/pattern-test', body)).status).to.equal(401)
    const own = await user.call('POST', '/v1/pattern-test', body)
    expect(own.body.data.matches).to.deep.equal([{ start: 0, end: 1 }])
    const unpaid = await newUser(gateway, 'free')
    expect((await unpaid.call('POST', '/v1/pattern-test', body)).status).to.equal(403)
  })
})
