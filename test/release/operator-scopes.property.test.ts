import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import type { RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newOperator, type TestOperator } from '../support/operators.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import { IS_FULL } from '../support/rounds.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const SEED = Number(process.env.PROPERTY_SEED ?? 20_261_127)
const ROUNDS = IS_FULL ? 4 : 2

interface Named {
  readonly id: number
  readonly name: string
}

interface Member extends TestUser, Named {
  readonly groups: readonly number[]
}

interface Sent {
  readonly id: string
  readonly user: Member
  /** Groups of the user when the request was sent. */
  readonly groups: readonly number[]
  readonly cost: number
}

/** Everything that there is, of which an operator sees a part. */
interface World {
  readonly groups: readonly Named[]
  readonly users: readonly Member[]
  readonly policies: readonly (Named & { readonly groups: readonly number[] })[]
  readonly sent: readonly Sent[]
}

describe(`what operators with a scope see (seed ${SEED})`, () => {
  let gateway: RunningGateway
  useSandboxGateway(1, (_: Sandbox, started) => {
    gateway = started
  })

  const asRoot = (method: string, path: string, body?: unknown) => asAdmin(gateway, method, path, body)

  /** Names are so long that no other text contains one by chance. */
  async function makeWorld(random: Random, round: number): Promise<World> {
    const nameOf = (kind: string, index: number) => `${kind}-of-round-${round}-number-${index}`
    const some = (ids: readonly number[]) => ids.filter(() => random.chance(0.4))
    const groups: Named[] = []
    for (let index = 0; index < 4; index++) {
      const name = nameOf('group', index)
      groups.push({ name, id: (await asRoot('POST', '/admin/groups', { name })).body.data.id })
    }
    const ids = groups.map(({ id }) => id)
    const users: Member[] = []
    for (let index = 0; index < 6; index++) {
      const name = nameOf('user', index)
      const user = await newUser(gateway, 'paid', name)
      const own = some(ids)
      for (const id of own) await asRoot('PUT', `/admin/groups/${id}/members/${user.id}`)
      await user.call(
        'POST',
        '/v1/firewall-rules',
        firewallRule({ name: nameOf('rule', index), pattern: 'never' }),
      )
      const budget = { limit_usd: 100 + random.integer(900), period: 'month', on_exceed: 'refuse' }
      if (random.chance(0.5)) await asRoot('PUT', `/admin/users/${user.id}/budget`, budget)
      users.push({ ...user, name, groups: own })
    }
    const policies = []
    for (let index = 0; index < 4; index++) {
      const of = some(ids)
      const applies_to = { groups: of.length > 0 ? of : ids.slice(0, 1) }
      const name = nameOf('policy', index)
      const firewall = [
        firewallRule({ name: nameOf('policy-rule', index), pattern: 'nothing', action: 'warn' }),
      ]
      const { id } = await newPolicy(gateway, { name, applies_to, firewall })
      policies.push({ id, name, groups: applies_to.groups })
    }
    const sent: Sent[] = []
    for (const user of users)
      for (let n = 1 + random.integer(3); n > 0; n--) {
        const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }
        const { headers, body: answer } = await user.call('POST', '/v1/chat/completions', body)
        const id = headers.get('x-request-id') ?? ''
        sent.push({ id, user, groups: user.groups, cost: answer.signalbox.cost_usd })
      }
    return { groups, users, policies, sent }
  }

  /** Every list and every single thing that an operator with a scope can read, by every id that there is. */
  async function readAll(
    operator: TestOperator,
    paths: readonly string[],
    { groups, users, policies, sent }: World,
  ) {
    const ids: Readonly<Record<string, readonly (number | string)[]>> = {
      users: users.map(({ id }) => id),
      keys: users.map(({ keyId }) => keyId),
      groups: groups.map(({ id }) => id),
      policies: policies.map(({ id }) => id),
      requests: sent.map(({ id }) => id),
    }
    const texts: string[] = []
    for (const path of paths) {
      const [, kind = ''] = /^\/admin\/(\w+)\/\{/.exec(path) ?? []
      for (const id of ids[kind] ?? ['']) {
        const asked = path.replace(/\{\w+\}/, String(id)).replaceAll(/\{\w+\}/g, '1')
        const answer = await operator.call('GET', asked)
        expect(answer.status, asked).to.be.oneOf([200, 400, 404])
        // A 404 repeats the id that it was asked for.
        if (answer.status === 200) texts.push(`${asked} ${JSON.stringify(answer.body)}`)
      }
    }
    for (const query of QUERIES) {
      const answer = await operator.call('GET', query)
      expect(answer.status, query).to.equal(200)
      texts.push(`${query} ${JSON.stringify(answer.body)}`)
    }
    for (const query of EXPORTS) {
      const response = await fetch(gateway.url + query, { headers: operator.headers })
      expect(response.status, query).to.equal(200)
      texts.push(`${query} ${await response.text()}`)
    }
    return texts
  }

  it('never has an id, a name or a sum from outside of their groups', async () => {
    const random = createRandom(SEED)
    const document = (await gateway.call('GET', '/openapi.json')).body
    const paths = Object.keys(document.paths).filter((path) => {
      const operation = document.paths[path].get
      return operation?.['x-operator-scope'] === 'filtered' && path !== '/admin/live'
    })
    expect(paths.length).to.be.above(25)
    const before: World[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const world = await makeWorld(random, round)
      before.push(world)
      const scope = world.groups.map(({ id }) => id).filter(() => random.chance(0.5))
      if (scope.length === 0) scope.push(world.groups[0]?.id ?? 0)
      const role = random.pick(['admin', 'editor', 'auditor'] as const)
      const operator = await newOperator(gateway, role, 'Watcher', { scope: { groups: scope } })
      const texts = await readAll(operator, paths, world)
      checkTexts(texts, before, scope)
      await checkSums(operator, world, scope)
    }
  })

  function checkTexts(texts: readonly string[], worlds: readonly World[], scope: readonly number[]): void {
    const isIn = (groups: readonly number[]) => groups.some((id) => scope.includes(id))
    const hidden = worlds.flatMap(({ groups, users, policies, sent }) => [
      ...groups.filter(({ id }) => !scope.includes(id)).map(({ name }) => name),
      ...users.filter((user) => !isIn(user.groups)).flatMap(({ name, keyId }) => [name, keyId]),
      // Of policies of other groups that apply to users of the scope, the names are seen.
      ...policies
        .filter(
          ({ groups }) =>
            !users.some((user) => isIn(user.groups) && user.groups.some((id) => groups.includes(id))),
        )
        .map(({ name }) => name),
      ...sent.filter(({ groups }) => !isIn(groups)).map(({ id }) => id),
    ])
    const hiddenIds = new Set(
      worlds.flatMap(({ groups, users }) => [
        ...groups.filter(({ id }) => !scope.includes(id)).map(({ id }) => id),
        ...users.filter((user) => !isIn(user.groups)).map(({ id }) => id),
      ]),
    )
    for (const text of texts) {
      for (const name of hidden)
        expect(text.includes(name), `${name} in ${text.slice(0, 300)}`).to.equal(false)
      for (const id of idsIn(text))
        expect(hiddenIds.has(id), `${id} in ${text.slice(0, 300)}`).to.equal(false)
    }
  }

  async function checkSums(operator: TestOperator, { sent }: World, scope: readonly number[]): Promise<void> {
    const own = sent.filter(({ groups }) => groups.some((id) => scope.includes(id)))
    const listed = (await operator.call('GET', '/admin/requests?limit=1000')).body.data
    expect(listed.map((record: { x_request_id: string }) => record.x_request_id)).to.have.members(
      own.map(({ id }) => id),
    )
    const [sum = { requests: 0, cost_usd: 0 }] = (await operator.call('GET', '/admin/usage')).body.data
    expect(sum.requests).to.equal(own.length)
    expect(sum.cost_usd).to.be.closeTo(
      own.reduce((total, { cost }) => total + cost, 0),
      1e-9,
    )
    for (const range of ['1h', '24h']) {
      const { totals } = (await operator.call('GET', `/admin/overview?range=${range}`)).body.data
      expect(totals.requests, range).to.equal(own.length)
    }
    for (const group of (await operator.call('GET', '/admin/usage?group_by=group')).body.data)
      expect(group.requests).to.equal(own.filter(({ groups }) => groups.includes(group.group)).length)
  }
})

const QUERIES = [
  '/admin/users?q=of-round',
  '/admin/groups?q=of-round',
  '/admin/usage?group_by=user&names=true',
  '/admin/usage?group_by=key&names=true',
  '/admin/usage?group_by=group',
  '/admin/usage?group_by=rule&names=true',
  '/admin/usage?group_by=hour&group_by=model',
  '/admin/audit?objects=true&limit=200',
  '/admin/audit?q=of-round&limit=200',
  '/admin/overview?range=1h',
]

const EXPORTS = ['/admin/requests?format=jsonl', '/admin/requests?format=csv', '/admin/audit?format=jsonl']

/** The numbers of fields that name users and groups. */
function idsIn(text: string): readonly number[] {
  const fields = /"(?:user_id|userId|user|group_id|groupId|group|groups|group_ids)":(\[[\d,]*\]|\d+)/g
  return [...text.matchAll(fields)].flatMap(([, value = '']) => (value.match(/\d+/g) ?? []).map(Number))
}
