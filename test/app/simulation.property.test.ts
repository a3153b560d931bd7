import { expect } from 'chai'
import { DECIDABLE, decisionIn, lastText } from '../support/decisions.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { createRandom, type Random } from '../support/random.ts'
import { randomFirewallRule, randomRequest, randomRoutingRule } from '../support/random-rules.ts'
import { ROUNDS } from '../support/rounds.ts'
import { writeSettings } from '../support/settings-file.ts'

const SEED = Number(process.env.SIMULATE_SEED ?? 20261120)
const STEPS = 12

/** A real request and the decision about it. */
interface PastRequest {
  readonly body: object
  readonly decided: object
  readonly position: number
}

describe(`simulating past requests (${ROUNDS.simulatedHistories} histories, seed ${SEED})`, () => {
  let gateway: RunningGateway

  before(async () => {
    gateway = await startGateway({ CONFIG: await writeSettings(DECIDABLE), LOG_LEVEL: 'silent' })
  })
  after(() => gateway.stop())

  it('decides like the real request: after it, later with as_of, and before it with drafts', async () => {
    const seeds = Array.from({ length: ROUNDS.simulatedHistories }, (_, index) => SEED + index)
    const counts = { answered: 0, failed: 0, suspended: 0, traced: 0 }
    const worker = async () => {
      for (let seed = seeds.pop(); seed !== undefined; seed = seeds.pop()) {
        try {
          for (const decided of await runHistory(createRandom(seed))) count(counts, decided)
        } catch (error) {
          if (error instanceof Error) error.message = `history of seed ${seed}: ${error.message}`
          throw error
        }
      }
    }
    await Promise.all(Array.from({ length: 6 }, worker))
    // The histories must cover every case.
    expect(Math.min(...Object.values(counts)), JSON.stringify(counts)).to.be.above(
      ROUNDS.simulatedHistories / 10,
    )
  })

  /** Makes random changes and requests as one user. Resolves with the decisions. */
  async function runHistory(random: Random): Promise<readonly object[]> {
    const user = await newUser(gateway)
    const made: PastRequest[] = []
    for (let step = 0; step < STEPS; step++) {
      if (random.chance(0.3)) made.push(await makeRequest(user, random))
      else await change(user, random)
    }
    await user.setPlan('paid')
    await tryDrafts(user, random)
    for (const { body, decided, position } of made) {
      expect(await simulate(user, { ...body, as_of: position })).to.deep.equal({ ...decided, position })
    }
    return made.map(({ decided }) => decided)
  }

  /** Makes a request and simulates it immediately. */
  async function makeRequest(user: TestUser, random: Random): Promise<PastRequest> {
    const { endpoint, body } = randomRequest(random)
    const response = await send(user, endpoint, body)
    const { data } = (await user.call('GET', `/v1/requests/${response.headers.get('x-request-id')}`)).body
    const position: number = data.rules_position
    if (response.body.metadata !== undefined) expect(response.body.metadata.rules_position).to.equal(position)
    const simulated = await simulate(user, { endpoint, ...body })
    const decided = { ...decisionIn(data), sent: simulated.sent }
    expect(simulated).to.deep.equal({ ...decided, position })
    if (response.status === 200) expect(JSON.stringify(response.body)).to.contain(simulated.sent)
    return { body: { endpoint, ...body }, decided, position }
  }

  /**
   * Simulates a request with drafts, creates the drafts, and makes the request: the decisions are equal
   * except for the ids of the new rules.
   */
  async function tryDrafts(user: TestUser, random: Random): Promise<void> {
    const { endpoint, body } = randomRequest(random)
    const rules = {
      routing: [randomRoutingRule(random), randomRoutingRule(random)],
      firewall: [randomFirewallRule(random)],
    }
    const simulated = await simulate(user, { endpoint, ...body, rules })
    const operations = Object.entries(rules).flatMap(([kind, drafts]) =>
      drafts.map((data) => ({ kind, op: 'create', data })),
    )
    const batch = await user.call('POST', '/v1/rules/batch', { operations })
    const response = await send(user, endpoint, body)
    const { data } = (await user.call('GET', `/v1/requests/${response.headers.get('x-request-id')}`)).body
    const ids: number[] = batch.body.data.map(({ id }: { id: number }) => id)
    const renumbered = JSON.stringify(simulated).replaceAll(
      /"rule_id":-(\d+)/g,
      (_, n) => `"rule_id":${ids[n - 1]}`,
    )
    const { position: _, sent, ...decided } = JSON.parse(renumbered)
    expect(decided).to.deep.equal(decisionIn(data))
    if (response.status === 200) expect(JSON.stringify(response.body)).to.contain(sent)
  }

  async function simulate(user: TestUser, body: object) {
    const { status, body: response } = await user.call('POST', '/v1/simulate', body)
    expect(status, JSON.stringify(response)).to.equal(200)
    const { data } = response
    const record = { ...data, ...data.targets[0] }
    return { ...decisionIn(record), position: data.rules_position, sent: lastText(data.request) }
  }
})

function send(user: TestUser, endpoint: string, body: object) {
  if (endpoint === 'route') return user.route(body)
  return user.call('POST', endpoint === 'chat' ? '/v1/chat/completions' : '/v1/responses', body)
}

/** Changes the user's plan or one of the rules. */
async function change(user: TestUser, random: Random): Promise<void> {
  if (random.chance(0.1)) {
    await user.setPlan('free')
    return
  }
  if (random.chance(0.2)) await user.setPlan('paid')
  const [path, rule] = random.pick([
    ['/v1/routing-rules', randomRoutingRule],
    ['/v1/firewall-rules', randomFirewallRule],
  ] as const)
  const { body } = await user.call('GET', path)
  const rules: readonly { id: number }[] = body.data ?? []
  if (rules.length === 0 || random.chance(0.4)) {
    await user.call('POST', path, rule(random))
    return
  }
  const one = `${path}/${random.pick(rules).id}`
  switch (random.pick(['patch', 'patch', 'delete', 'revert', 'revive'])) {
    case 'patch':
      await user.call('PATCH', one, rule(random))
      break
    case 'delete':
      await user.call('DELETE', one)
      break
    case 'revert':
      await user.call('POST', `${one}/revert`, { revision: 1 })
      break
    default:
      await user.call('DELETE', one)
      await user.call('POST', `${one}/revert`, { revision: 1 })
  }
}

function count(counts: Record<string, number>, decided: object): void {
  const text = JSON.stringify(decided)
  const found = {
    answered: text.includes('"error":null'),
    failed: !text.includes('"error":null'),
    suspended: text.includes('"code":"plan"'),
    traced: text.includes('"rule_id"'),
  }
  for (const [name, isFound] of Object.entries(found)) if (isFound) counts[name] = (counts[name] ?? 0) + 1
}
