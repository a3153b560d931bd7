import { expect } from 'chai'
import { type AdjustableClock, adjustClock } from '../support/clock.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'

const DAY_MS = 86_400_000

const PATH = '/v1/firewall-rules'

describe('a clock that was set forward and back', () => {
  let gateway: RunningGateway
  let clock: AdjustableClock

  before(async () => {
    // The gateway keeps the clock that it starts with.
    clock = adjustClock()
    gateway = await startGateway()
  })

  after(async () => {
    await gateway.stop()
    clock.restore()
  })

  async function createRule(name: string) {
    const rule = { name, is_enabled: true, priority: 0, type: 'substring', scope: 'prompt' }
    const { status, body } = await gateway.call('POST', PATH, { ...rule, pattern: name, action: 'block' })
    expect(status).to.equal(201)
    return body.data
  }

  async function listAsOf(asOf: string | number) {
    const { status, body } = await gateway.call('GET', `${PATH}?as_of=${asOf}`)
    expect(status).to.equal(200)
    return body.data.map(({ name }: { name: string }) => name)
  }

  const isoNow = () => new Date(Date.now()).toISOString()

  it('leaves no event times in the future, and every rule in its place', async () => {
    const first = await createRule('first')
    clock.adjust(DAY_MS)
    const ahead = await createRule('ahead')
    clock.adjust(10 - DAY_MS)
    expect(await listAsOf(isoNow()), 'after the clock was set back').to.deep.equal(['first', 'ahead'])
    expect(await listAsOf(ahead.created_at)).to.deep.equal(['first', 'ahead'])

    clock.adjust(5000)
    const last = await createRule('last')
    expect(Date.parse(last.created_at) - Date.now()).to.be.within(-1000, 1000)
    clock.adjust(10)
    expect(await listAsOf(last.created_at)).to.deep.equal(['first', 'ahead', 'last'])
    expect(await listAsOf(isoNow())).to.deep.equal(['first', 'ahead', 'last'])
    expect(await listAsOf(first.created_at)).to.deep.equal(['first'])

    const { body } = await gateway.call('GET', '/v1/audit?kind=firewall')
    expect(body.data.map(({ id }: { id: number }) => id)).to.deep.equal([last.id, ahead.id, first.id])
  })
})
