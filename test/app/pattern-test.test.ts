import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'

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

  const CASES = [
    [
      'a regex',
      { pattern: '(\\d)\\d', text: 'a 12, 34' },
      [
        [2, 4],
        [6, 8],
      ],
      'a [redacted], [redacted]',
    ],
    ['groups', { pattern: '(\\d)\\d', text: 'x12', replacement: '$1*' }, [[1, 3]], 'x1*'],
    [
      'a greedy end',
      { pattern: 'a+', text: 'aa b aaa' },
      [
        [0, 2],
        [5, 8],
      ],
      '[redacted] b [redacted]',
    ],
    [
      'any text',
      { pattern: '.+', text: 'one\ntwo' },
      [
        [0, 3],
        [4, 7],
      ],
      '[redacted]\n[redacted]',
    ],
    [
      'look-around',
      { pattern: '(?<=a)b', text: 'ab b ab' },
      [
        [1, 2],
        [6, 7],
      ],
      'a[redacted] b a[redacted]',
    ],
    ['a substring', { type: 'substring', pattern: 'x', text: 'X!', replacement: '$1' }, [[0, 1]], '$1!'],
    ['a preset', { type: 'preset', pattern: 'email', text: 'to a@b.com' }, [[3, 10]], 'to [redacted]'],
    ['nothing', { pattern: 'z', text: 'abc' }, [], 'abc'],
  ] as const

  for (const [name, body, matches, masked] of CASES)
    it(`finds the matches of ${name}, as rules do`, async () => {
      const found = await test(body)
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

  it('is for operators', async () => {
    const user = await newUser(gateway)
    const body = { type: 'regex', pattern: 'a', text: 'a' }
    expect((await user.call('POST', '/admin/pattern-test', body)).status).to.equal(401)
  })
})
