import { expect } from 'chai'
import { routingRuleBody } from '../support/bodies.ts'
import { startGateway } from '../support/gateway.ts'
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
})
