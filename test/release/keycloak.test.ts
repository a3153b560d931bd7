import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { type RunningKeycloak, requireKeycloak } from '../support/keycloak.ts'
import { firewallRule, newPolicy } from '../support/policies.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** Java takes its time on two busy cores. */
const START_MS = 300_000

describe('Keycloak', () => {
  let keycloak: RunningKeycloak
  let gateway: RunningGateway

  before(async function () {
    this.timeout(START_MS)
    keycloak = await requireKeycloak(this)
    gateway = await startGateway(
      await withSettings(`${UNLIMITED}identity:
  callers:
    - issuer: '${keycloak.issuer}'
      audience: signalbox
      groups: { claim: groups, map: { engineering: Engineering, operations: Operations }, create: true }\n`),
    )
  })
  after(async () => {
    await gateway?.stop()
    await keycloak?.stop()
  })

  const chat = (token: string, text = 'Hello') =>
    gateway.call('POST', '/v1/chat/completions', chatBody(text), { authorization: `Bearer ${token}` })
  const asAdmin = (path: string) => gateway.call('GET', path, undefined, AS_ADMIN)

  it('lets a service account in, as a user in the groups of its token', async () => {
    expect((await chat(await keycloak.serviceToken())).status).to.equal(200)
    const [operations] = (await asAdmin('/admin/groups?q=Operations')).body.data
    const { data: users } = (await asAdmin('/admin/users')).body
    const batch = users.find(({ identity }: { identity?: unknown }) => identity !== undefined)
    expect(batch.identity.issuer).to.equal(keycloak.issuer)
    expect(batch.groups).to.deep.equal([operations.id])
  })

  it('lets people in by the official client, under the policies of their groups', async () => {
    const token = await keycloak.userToken('grace')
    const answer = await gateway.openai(token).chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(answer.choices[0]?.message.content).to.be.a('string')
    const [engineering] = (await asAdmin('/admin/groups?q=Engineering')).body.data
    await newPolicy(gateway, {
      applies_to: { groups: [engineering.id] },
      firewall: [firewallRule({ pattern: 'launch code' })],
    })
    expect((await chat(token, 'The launch code')).status).to.equal(403)
    expect((await chat(await keycloak.userToken('alan'), 'The launch code')).status).to.equal(200)
    const [grace] = (await asAdmin('/admin/users?q=grace@example.com')).body.data
    expect(grace.groups).to.deep.equal([engineering.id])
  })
})
