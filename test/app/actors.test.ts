import { expect } from 'chai'
import { routingRuleBody } from '../support/bodies.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, startGateway } from '../support/gateway.ts'
import { openMemoryLog } from '../support/memory-logs.ts'
import { newUser } from '../support/new-user.ts'

describe('actors in the audit trail', () => {
  it('have a type, an id and a name, and are found by their id', async () => {
    const gateway = await startGateway()
    const user = await newUser(gateway)
    await user.call('POST', '/v1/routing-rules', routingRuleBody())

    const { data } = (await user.call('GET', '/v1/audit')).body
    expect(data.map(({ actor }: { actor: unknown }) => actor)).to.deep.equal([
      { type: 'key', id: user.keyId, name: 'someone' },
      { type: 'root', id: 'root', name: 'root' },
      { type: 'root', id: 'root', name: 'root' },
    ])
    const found = async (actor: string) =>
      (await user.call('GET', `/v1/audit?actor=${actor}`)).body.data.length
    expect(await found(user.keyId)).to.equal(1)
    expect(await found('root')).to.equal(2)
    expect(await found('someone')).to.equal(0)
    await gateway.stop()
  })

  it('are read in events of earlier versions, which have a text', async () => {
    const dataDir = await makeFolder()
    const log = openMemoryLog(dataDir)
    const metadata = (actor: string) => ({ actor, time: '2026-01-01T00:00:00.000000Z', schema: 1 })
    const events = [
      ['admin', { type: 'UserCreated', data: { userId: 1, name: 'Ada', plan: 'paid' } }],
      ['cli', { type: 'PlanChanged', data: { userId: 1, plan: 'free' } }],
      ['system', { type: 'PlanChanged', data: { userId: 1, plan: 'paid' } }],
      ['key_a', { type: 'PlanChanged', data: { userId: 1, plan: 'free' } }],
    ] as const
    for (const [actor, event] of events)
      await log.append('user-1', [event], { expectedRevision: 'any', metadata: metadata(actor) })
    const gateway = await startGateway({}, { dataDir })
    const issued = await gateway.call('POST', '/admin/users/1/keys', undefined, AS_ADMIN)
    const headers = { authorization: `Bearer ${issued.body.data.key}` }

    const { data } = (await gateway.call('GET', '/v1/audit', undefined, headers)).body
    expect(data.slice(1).map(({ actor }: { actor: unknown }) => actor)).to.deep.equal([
      { type: 'key', id: 'key_a', name: 'key_a' },
      { type: 'system', id: 'system', name: 'system' },
      { type: 'cli', id: 'cli', name: 'cli' },
      { type: 'root', id: 'root', name: 'root' },
    ])
    await gateway.stop()
  })
})
