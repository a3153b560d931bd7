import { expect } from 'chai'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { waitUntil } from '../support/wait.ts'

const CHANGES = 12
const CLIENTS_PER_GATEWAY = 2

const mask = (pattern: string, replacement: string) =>
  firewallRule({ name: pattern, action: 'mask', pattern, replacement })

interface Seen {
  readonly gateway: RunningGateway
  readonly first: string
  readonly second: string
  readonly position: number
}

describe('two gateways on EventStoreDB, while policies change under load', () => {
  let server: EventStore
  let gateways: readonly [RunningGateway, RunningGateway]
  let user: TestUser
  before(async () => {
    server = await startEventStore()
    const settings = { ...(await withSettings(UNLIMITED)), EVENTSTORE_URL: server.connectionString }
    const first = await startGateway(settings)
    const second = await startGateway(settings, { dataDir: await makeFolder(), demoKey: first.demoKey })
    gateways = [first, second]
    user = await newUser(first)
    await waitUntil(async () => (await second.call('GET', '/v1/models')).status === 200)
  })
  after(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()))
    await server.stop()
  })

  const authorization = () => ({ authorization: `Bearer ${user.key}` })
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'alpha beta' }] }

  async function ask(gateway: RunningGateway): Promise<Seen> {
    const answer = await gateway.call('POST', '/v1/chat/completions', body, authorization())
    const [, first = '', second = ''] =
      /said: "(\S+) (\S+)"/.exec(answer.body.choices[0].message.content) ?? []
    return { gateway, first, second, position: answer.body.signalbox.rules_position }
  }

  /** What is sent as of a position. */
  async function textAt({ gateway, position }: Seen): Promise<string> {
    const simulation = { user_id: user.id, request: body, as_of: position }
    const { data } = (await asAdmin(gateway, 'POST', '/admin/simulate', simulation)).body
    return data.request.messages[0].content
  }

  it('no request mixes two states, and each is explained by its position', async function () {
    this.timeout(180_000)
    const policy = await newPolicy(gateways[0], { firewall: [mask('alpha', '0'), mask('beta', '0')] })
    const [alpha, beta] = policy.ruleIds
    const seen: Seen[] = []
    let isChanging = true
    const load = async (gateway: RunningGateway) => {
      while (isChanging) seen.push(await ask(gateway))
    }
    const clients = gateways.flatMap((gateway) =>
      Array.from({ length: CLIENTS_PER_GATEWAY }, () => load(gateway)),
    )
    for (let change = 1; change <= CHANGES; change++) {
      const gateway = gateways[change % 2 === 0 ? 0 : 1]
      const operations = [alpha, beta].map((id) => ({
        kind: 'firewall',
        op: 'update',
        id,
        data: { replacement: String(change) },
      }))
      const batch = () => asAdmin(gateway, 'POST', `${policy.path}/rules/batch`, { operations })
      // The gateway that makes the first change may not have seen the policy yet.
      await waitUntil(async () => (await batch()).status === 200)
      // In force when it is answered.
      const own = await ask(gateway)
      expect([own.first, own.second]).to.deep.equal([String(change), String(change)])
      seen.push(own)
      if (change % 6 === 0) {
        await asAdmin(gateway, 'PATCH', policy.path, { is_enabled: false })
        expect((await ask(gateway)).first).to.equal('alpha')
        await asAdmin(gateway, 'PATCH', policy.path, { is_enabled: true })
      }
    }
    isChanging = false
    await Promise.all(clients)

    const isWhole = ({ first, second }: Seen) => first === second || (first === 'alpha' && second === 'beta')
    expect(seen.filter((one) => !isWhole(one))).to.deep.equal([])
    const states = new Map<string, Seen>()
    for (const one of seen) states.set(`${one.gateway.url} ${one.position} ${one.first}`, one)
    const ofPosition = new Map<number, string>()
    for (const one of states.values()) {
      const text = `${one.first} ${one.second}`
      expect(await textAt(one)).to.equal(text)
      expect(ofPosition.get(one.position) ?? text).to.equal(text)
      ofPosition.set(one.position, text)
    }
    expect(ofPosition.size).to.be.at.least(CHANGES)
  })
})
