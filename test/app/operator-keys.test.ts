import { expect } from 'chai'
import { type StoppedClock, stopClock } from '../support/clock.ts'
import { makeFolder } from '../support/folders.ts'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newOperator } from '../support/operators.ts'

const HOUR_MS = 3_600_000

describe('keys of operators', () => {
  let gateway: RunningGateway
  let clock: StoppedClock
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  beforeEach(() => {
    clock = stopClock()
  })
  afterEach(() => clock.restore())

  const code = ({ status, headers }: Answer) => [status, headers.get('x-error-code')]
  const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString()
  const withKey = (key: string) => ({ authorization: `Bearer ${key}` })
  const readSelf = (key: string) => gateway.call('GET', '/admin/operators/self', undefined, withKey(key))
  const rotate = (id: string, body: object, headers: Record<string, string> = AS_ADMIN) =>
    gateway.call('POST', `/admin/operators/${id}/rotate`, body, headers)

  it('expire when their creation says so', async () => {
    const { id, key } = await newOperator(gateway, 'auditor', 'Grace', { expires_at: inFuture(HOUR_MS) })
    const self = await readSelf(key)
    expect(self.body.data).to.include({ type: 'operator', id, name: 'Grace', role: 'auditor', scope: null })
    expect(Date.parse(self.body.data.expires_at)).to.equal(Date.now() + HOUR_MS)
    clock.pass(HOUR_MS)
    const refused = await readSelf(key)
    expect(code(refused)).to.deep.equal([401, 'key_expired'])
    expect(refused.body.error.message).to.contain(id)
    const past = { name: 'A', role: 'auditor', expires_at: inFuture(-1) }
    expect(code(await gateway.call('POST', '/admin/operators', past, AS_ADMIN))).to.deep.equal([
      400,
      'invalid_value',
    ])
  })

  it('are prolonged by an admin, and unlimited with null', async () => {
    const { id, key } = await newOperator(gateway, 'auditor', 'Grace', { expires_at: inFuture(HOUR_MS) })
    clock.pass(HOUR_MS)
    const path = `/admin/operators/${id}`
    const { body } = await gateway.call('PATCH', path, { expires_at: null }, AS_ADMIN)
    expect(body.data.expires_at).to.equal(null)
    expect((await readSelf(key)).status).to.equal(200)
  })

  it('are rotated by their operators, whatever the role and the scope', async () => {
    const group = (await gateway.call('POST', '/admin/groups', { name: 'Support' }, AS_ADMIN)).body.data.id
    const scope = { groups: [group] }
    const { id, key } = await newOperator(gateway, 'auditor', 'Grace', { scope })
    const other = await newOperator(gateway, 'auditor')
    const rotated = await rotate('self', { overlap_seconds: 60 }, withKey(key))
    expect(rotated.status).to.equal(201)
    expect(rotated.body.data).to.deep.include({ id, role: 'auditor', scope })
    const next: string = rotated.body.data.key
    expect(next)
      .to.match(/^op_[0-9A-Za-z]{43}$/)
      .and.not.equal(key)
    expect([(await readSelf(key)).status, (await readSelf(next)).status]).to.deep.equal([200, 200])
    clock.pass(60_000)
    expect(code(await readSelf(key))).to.deep.equal([401, 'key_expired'])
    expect((await readSelf(next)).status).to.equal(200)
    expect(code(await rotate(other.id, { overlap_seconds: 0 }, withKey(next)))).to.deep.equal([
      403,
      'role_required',
    ])
  })

  it('are invalid at once after a rotation without overlap, also those that were replaced before', async () => {
    const { id, key } = await newOperator(gateway, 'editor')
    const second = (await rotate(id, { overlap_seconds: 60 })).body.data.key
    const third = (await rotate(id, { overlap_seconds: 0, expires_at: inFuture(HOUR_MS) })).body.data.key
    for (const old of [key, second]) expect(code(await readSelf(old))).to.deep.equal([401, 'invalid_api_key'])
    expect((await readSelf(third)).body.data.role).to.equal('editor')
    clock.pass(HOUR_MS)
    expect(code(await rotate(id, { overlap_seconds: 0 }))).to.deep.equal([409, 'conflict'])
    const fourth = await rotate(id, { overlap_seconds: 0, expires_at: inFuture(HOUR_MS) })
    expect((await readSelf(fourth.body.data.key)).status).to.equal(200)
  })

  it('are rotated as an event that has no key, and survive a restart', async () => {
    const dataDir = await makeFolder()
    const first = await startGateway({}, { dataDir })
    const { id, key } = await newOperator(first, 'auditor')
    const asRoot = (method: string, path: string, body?: object) => first.call(method, path, body, AS_ADMIN)
    const next = (await asRoot('POST', `/admin/operators/${id}/rotate`, { overlap_seconds: 60 })).body.data
      .key
    const history = await asRoot('GET', `/admin/operators/${id}/history`)
    expect(history.body.data.map(({ event }: { event: string }) => event)).to.deep.equal([
      'created',
      'key_rotated',
    ])
    const audit = await asRoot('GET', '/admin/audit?kind=operator&objects=true')
    expect(audit.body.data[0]).to.include({ kind: 'operator', id, event: 'key_rotated' })
    for (const text of [history.body, audit.body].map((body) => JSON.stringify(body)))
      expect(text).not.to.match(/op_[0-9A-Za-z]{20}|"hash"|replaced"/)
    await first.stop()
    const second = await startGateway({}, { dataDir })
    const self = (given: string) => second.call('GET', '/admin/operators/self', undefined, withKey(given))
    expect([(await self(key)).status, (await self(next)).status]).to.deep.equal([200, 200])
    await second.stop()
  })

  it('show in lists when they were last used', async () => {
    const { id, key } = await newOperator(gateway, 'auditor')
    const lastUse = async () => {
      const { data } = (await gateway.call('GET', '/admin/operators', undefined, AS_ADMIN)).body
      return data.find((operator: { id: string }) => operator.id === id).last_used_at
    }
    expect(await lastUse()).to.equal(null)
    const { body } = await readSelf(key)
    const hour = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS).toISOString()
    expect([await lastUse(), body.data.last_used_at]).to.deep.equal([hour, hour])
  })

  it('are not those of root, who is not an operator', async () => {
    const self = await gateway.call('GET', '/admin/operators/self', undefined, AS_ADMIN)
    expect(self.body.data).to.deep.include({ type: 'root', id: 'root', role: 'admin', scope: null })
    expect(code(await rotate('self', { overlap_seconds: 0 }))).to.deep.equal([404, 'not_found'])
  })
})
