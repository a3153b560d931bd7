import { expect } from 'chai'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin } from '../support/policies.ts'
import { goodAt, trainedData, writeVersions } from '../support/routers.ts'
import { writeSettings } from '../support/settings-file.ts'

const CHEAP = 'ministral-3b-2512'

const settings = (routing: object) =>
  writeSettings(`
rate_limits: { requests_per_minute: { free: null, paid: null } }
routing: ${JSON.stringify(routing)}
`)

describe('learned routing', () => {
  let gateway: RunningGateway
  const admin = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    asAdmin(gateway, method, path, body, headers)
  const ask = (content: string, from: Pick<TestUser, 'call'> = gateway, more: object = {}): Promise<Answer> =>
    from.call('POST', '/v1/chat/completions', {
      model: 'auto:quality',
      messages: [{ role: 'user', content }],
      ...more,
    })
  const activate = (version: number, headers?: Record<string, string>) =>
    admin('POST', `/admin/routers/${version}/activate`, {}, headers)
  const write = async (...versions: Parameters<typeof trainedData>[]) => {
    await writeVersions(
      gateway.dataDir,
      versions.map((version) => trainedData(...version)),
    )
    // A change of an operator waits until this node has applied all events before it.
    await newUser(gateway)
  }

  afterEach(() => gateway.stop())

  it('chooses by the prompt once a version is active, and says which', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'on' }) })
    const { dataDir } = gateway
    await write([1, dataDir, { models: { [CHEAP]: goodAt('haiku', dataDir) } }])
    const before = await ask('write a haiku')
    expect(before.body.model).not.to.equal(CHEAP)
    expect(before.body.signalbox).not.to.have.property('router')

    expect((await activate(1)).body.data).to.include({ version: 1, is_active: true })
    const haiku = await ask('write a haiku')
    expect(haiku.body.model).to.equal(CHEAP)
    expect(haiku.body.signalbox.router.version).to.equal(1)
    expect(haiku.body.signalbox.router.p).to.be.within(0.99, 1)
    const other = await ask('prove a theorem')
    expect(other.body.model).not.to.equal(CHEAP)
    expect(other.body.signalbox.router).to.deep.equal({ version: 1, p: null })

    const record = await gateway.call('GET', `/v1/requests/${haiku.body.x_request_id}`)
    expect(record.body.data.router).to.deep.equal({ ...haiku.body.signalbox.router, propensity: null })
  })

  it('only records in the shadow, and does nothing when it is off', async () => {
    for (const [learned, router] of [
      ['shadow', { version: 1, p: null, propensity: null }],
      ['off', null],
    ] as const) {
      if (learned === 'off') await gateway.stop()
      gateway = await startGateway({ CONFIG: await settings({ learned }) })
      await write([1, gateway.dataDir, { models: { [CHEAP]: goodAt('haiku', gateway.dataDir) } }])
      await activate(1)
      const answer = await ask('write a haiku')
      expect(answer.body.model).not.to.equal(CHEAP)
      const record = await gateway.call('GET', `/v1/requests/${answer.body.x_request_id}`)
      expect(record.body.data.router).to.deep.equal(router)
    }
  })

  it('ignores a model with too few ratings', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'on', min_model_ratings: 100 }) })
    await write([1, gateway.dataDir, { models: { [CHEAP]: goodAt('haiku', gateway.dataDir) }, ratings: 99 }])
    await activate(1)
    expect((await ask('write a haiku')).body.model).not.to.equal(CHEAP)
  })

  it('uses the version of a group for its members, and that of everyone for others', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'on' }) })
    const { dataDir } = gateway
    const group = (await admin('POST', '/admin/groups', { name: 'Poets' })).body.data.id
    const member = await newUser(gateway)
    await admin('PUT', `/admin/groups/${group}/members/${member.id}`)
    await write(
      [1, dataDir, { models: { [CHEAP]: goodAt('theorem', dataDir) } }],
      [2, dataDir, { models: { [CHEAP]: goodAt('haiku', dataDir) }, scope: { groupId: group } }],
    )
    await activate(1)
    await activate(2)
    expect((await ask('a haiku', member)).body.signalbox.router.version).to.equal(2)
    expect((await ask('a haiku', member)).body.model).to.equal(CHEAP)
    expect((await ask('a haiku')).body.model).not.to.equal(CHEAP)
    expect((await ask('a theorem')).body.model).to.equal(CHEAP)
  })

  it('rolls back to the version before, then to none, with reasons in the audit trail', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'on' }) })
    const { dataDir } = gateway
    await write(
      [1, dataDir, { models: { [CHEAP]: goodAt('haiku', dataDir) } }],
      [2, dataDir, { models: { [CHEAP]: goodAt('theorem', dataDir) }, figures: { apgr: 0.4 } }],
    )
    const editor = await newOperator(gateway, 'editor', 'Ada')
    const reason = { 'x-change-reason': 'better on haikus' }
    await editor.call('POST', '/admin/routers/1/activate', {}, reason)
    const between = (await admin('GET', '/admin/audit?kind=router&limit=1')).body.data[0].position
    await activate(2)
    expect((await activate(2)).status).to.equal(409)
    const roll = () => admin('POST', '/admin/routers/rollback', {})
    expect((await roll()).body.data).to.deep.equal({ version: 1 })
    expect((await ask('a haiku')).body.model).to.equal(CHEAP)
    expect((await roll()).body.data).to.deep.equal({ version: null })
    expect((await ask('a haiku')).body.model).not.to.equal(CHEAP)
    expect((await roll()).status).to.equal(409)

    const trail = (await admin('GET', '/admin/audit?kind=router')).body.data
    expect(trail.map(({ event, id }: Answer['body']) => `${event} ${id}`)).to.deep.equal([
      'rolled_back null',
      'rolled_back 1',
      'activated 2',
      'activated 1',
      'trained 2',
      'trained 1',
    ])
    expect(trail[3]).to.deep.include({ reason: 'better on haikus' })
    expect(trail[3].actor).to.include({ type: 'operator', name: 'Ada' })
    expect(JSON.stringify(trail)).not.to.contain('"weights"')

    const active = async (query: string) => {
      const { body } = await admin('GET', `/admin/routers${query}`)
      return body.data
        .filter(({ is_active }: Answer['body']) => is_active)
        .map(({ version }: Answer['body']) => version)
    }
    expect(await active('')).to.deep.equal([])
    expect(await active(`?as_of=${between}`)).to.deep.equal([1])
    const diff = (await admin('GET', '/admin/routers/diff?from=1&to=2')).body.data
    expect(diff.figures).to.deep.equal([
      { name: 'better', from: true, to: null },
      { name: 'apgr', from: null, to: 0.4 },
    ])
  })

  it('refuses a damaged version, and keeps the one before', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'on' }) })
    const { dataDir } = gateway
    const models = { [CHEAP]: goodAt('haiku', dataDir) }
    await write(
      [1, dataDir, { models }],
      [2, dataDir, { models, damage: (data) => ({ ...data, checksum: 'a'.repeat(64) }) }],
      [3, dataDir, { models: { [CHEAP]: 'AAAA' } }],
      [4, dataDir, { models, damage: (data) => ({ ...data, featureKeyId: 'another' }) }],
    )
    await activate(1)
    for (const [version, why] of [
      [2, /weights are not those/],
      [3, /cannot be used/],
      [4, /FEATURES_KEY/],
    ] as const) {
      const refused = await activate(version)
      expect(refused.status).to.equal(409)
      expect(refused.body.error.message).to.match(why)
    }
    expect((await activate(9)).status).to.equal(404)
    expect((await ask('a haiku')).body.signalbox.router.version).to.equal(1)
  })

  it('is for operators: auditors read, editors change', async () => {
    gateway = await startGateway({ CONFIG: await settings({ learned: 'shadow' }) })
    const auditor = await newOperator(gateway, 'auditor')
    const report = (await auditor.call('GET', '/admin/routers/report')).body.data
    expect(report).to.deep.include({ active: null, candidate: null, is_better: false })
    for (const change of ['rollback', 'train', '1/activate'])
      expect((await auditor.call('POST', `/admin/routers/${change}`, {})).status, change).to.equal(403)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/report'],
      ['POST', '/train'],
      ['POST', '/1/what-if'],
    ] as const)
      expect((await gateway.call(method, `/admin/routers${path}`)).status, path).to.equal(401)
    const training = await admin('POST', '/admin/routers/train', {})
    expect(training.status).to.equal(409)
    expect(training.body.error.message).to.match(/There are 0 ratings .* at least 200/)
    expect((await admin('POST', '/admin/routers/train', { group_id: 99 })).status).to.equal(404)
    for (const [path, body] of [
      ['1/activate', { reason: 'a trial' }],
      ['1/what-if', { since: '2026-01-01' }],
    ] as const) {
      const ignored = await admin('POST', `/admin/routers/${path}`, body)
      expect([ignored.status, ignored.body.error.message]).to.deep.equal([
        400,
        `Unknown field "${Object.keys(body)}".`,
      ])
    }
  })
})
