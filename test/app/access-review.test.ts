import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type StoppedClock, stopClock } from '../support/clock.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'

const DAY_MS = 86_400_000

describe('GET /admin/access-review', () => {
  let clock: StoppedClock
  let gateway: RunningGateway
  before(async () => {
    clock = stopClock()
    gateway = await startGateway()
  })
  after(async () => {
    await gateway.stop()
    clock.restore()
  })

  const admin = (method: string, path: string, body?: unknown) => gateway.call(method, path, body, AS_ADMIN)

  async function review(query = '') {
    const { status, body } = await admin('GET', `/admin/access-review?${query}`)
    expect(status).to.equal(200)
    return body
  }

  it('lists who can do what, and marks what was not used for long', async () => {
    const ada = await newUser(gateway, 'paid', 'Ada')
    const idle = await newUser(gateway, 'free', 'Idle')
    const keyless = await newUser(gateway, 'free', 'Keyless')
    await keyless.revokeKey(keyless.keyId)
    const group = (await admin('POST', '/admin/groups', { name: 'Legal' })).body.data.id
    await admin('PUT', `/admin/groups/${group}/members/${ada.id}`)
    const targets = { applies_to: { groups: [group] } }
    const policy = { name: 'No addresses', is_enabled: true, priority: 0, ...targets }
    const policyId = (await admin('POST', '/admin/policies', policy)).body.data.id
    const rule = { name: 'Addresses', is_enabled: true, priority: 0, scope: 'prompt', type: 'preset' }
    const content = { ...rule, pattern: 'email', action: 'block' }
    await admin('POST', `/admin/policies/${policyId}/firewall-rules`, content)
    const otto = await newOperator(gateway, 'auditor', 'Otto', { scope: { groups: [group] } })
    const terms = {
      name: 'Batch',
      models: ['gpt-4o'],
      expires_at: new Date(Date.now() + 900 * DAY_MS).toISOString(),
    }
    const spare = (await admin('POST', `/admin/users/${ada.id}/keys`, terms)).body.data

    clock.pass(100 * DAY_MS)
    await ada.call('POST', '/v1/chat/completions', chatBody('Hello'))
    const { data, next_cursor } = await review()
    expect(next_cursor).to.equal(null)
    const find = (name: string) => data.find((entry: { name: string }) => entry.name === name)
    expect(data[0]).to.include({
      kind: 'root',
      id: 'root',
      name: 'ADMIN_KEY',
      role: 'admin',
      is_stale: false,
    })
    expect(find('Otto')).to.deep.include({
      ...{ kind: 'operator', role: 'auditor', plan: null, groups: [{ id: group, name: 'Legal' }] },
      ...{ last_used_at: null, findings: ['never_used', 'no_expiry'], is_stale: true, keys: [] },
    })
    const shown = find('Ada')
    expect(shown).to.deep.include({
      ...{
        kind: 'user',
        id: String(ada.id),
        role: null,
        plan: 'paid',
        groups: [{ id: group, name: 'Legal' }],
      },
      ...{ policies: [{ id: policyId, name: 'No addresses' }], identity: null },
      ...{ findings: ['unused_key', 'no_expiry'], is_stale: true },
    })
    const thisHour = new Date(Date.now()).toISOString().slice(0, 13)
    expect(shown.last_used_at).to.satisfy((time: string) => time.startsWith(thisHour))
    expect(shown.keys.map(({ id, last_used_at }: never) => [id, last_used_at])).to.deep.equal([
      [ada.keyId, shown.last_used_at],
      [spare.id, null],
    ])
    expect(shown.keys[1]).to.deep.include({ name: 'Batch', models: ['gpt-4o'] })
    expect(find('Idle')).to.deep.include({ last_used_at: null, findings: ['never_used', 'no_expiry'] })
    expect(find('Keyless')).to.deep.include({ keys: [], findings: ['no_access'], is_stale: false })
    expect(JSON.stringify(data)).not.to.match(/hash|tr_|op_/)

    const staleNames = async (query: string) =>
      (await review(`stale=true&${query}`)).data.map((entry: { name: string }) => entry.name)
    expect(await staleNames(''))
      .to.include.members(['Otto', 'Ada', 'Idle'])
      .and.not.to.include('Keyless')
    expect(await staleNames('kind=user&stale_days=365')).to.deep.equal([])
    expect(
      (await review(`q=${idle.id}&kind=user`)).data.map((entry: { name: string }) => entry.name),
    ).to.include('Idle')
    const paged: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await review(`limit=2${cursor && `&cursor=${cursor}`}`)
      paged.push(...page.data)
      cursor = page.next_cursor
    }
    expect(paged).to.deep.equal(data)
    expect(otto.id).to.match(/^operator_/)
  })

  it('is exported as CSV, which the audit trail has', async () => {
    const response = await fetch(`${gateway.url}/admin/access-review?format=csv&kind=user`, {
      headers: AS_ADMIN,
    })
    expect(response.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    const [head, ...lines] = (await response.text()).trimEnd().split('\r\n')
    const columns = 'kind,id,name,role,plan,groups,policies,identity,keys'
    expect(head).to.equal(`${columns},expires_at,created_at,last_used_at,findings,is_stale`)
    const ada = lines.find((line) => line.includes(',Ada,'))
    expect(ada).to.match(/^user,\d+,Ada,,paid,Legal,No addresses,,key_\w+; key_\w+ Batch \(only gpt-4o\),,/)
    expect(ada).to.match(/,unused_key; no_expiry,true$/)
    const { body } = await admin('GET', '/admin/audit?kind=access&limit=1')
    expect(body.data[0].data).to.deep.include({ read: 'export' })
  })

  it('has no name as CSV that a spreadsheet runs, full-width signs neither', async () => {
    for (const sign of ['=', '＝', '＋', '－', '＠'])
      expect((await admin('POST', '/admin/users', { name: `${sign}1*2`, plan: 'free' })).status).to.equal(201)
    const url = `${gateway.url}/admin/access-review?format=csv&kind=user&q=1*2`
    const response = await fetch(url, { headers: AS_ADMIN })
    const names = (await response.text())
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(',')[2])
    expect(names).to.deep.equal(['name', "'=1*2", "'＝1*2", "'＋1*2", "'－1*2", "'＠1*2"])
  })

  it('is for operators of any role who see everything', async () => {
    const read = (key: string) =>
      gateway.call('GET', '/admin/access-review', undefined, { authorization: `Bearer ${key}` })
    expect((await read((await newOperator(gateway, 'auditor', 'Eve')).key)).status).to.equal(200)
    const group = (await admin('POST', '/admin/groups', { name: 'Service' })).body.data.id
    const scoped = await newOperator(gateway, 'admin', 'Sue', { scope: { groups: [group] } })
    expect((await read(scoped.key)).status).to.equal(403)
  })
})
