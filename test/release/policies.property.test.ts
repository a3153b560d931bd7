import { expect } from 'chai'
import { DECIDABLE, decisionIn } from '../support/decisions.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import {
  randomFirewallRule,
  randomPolicyFirewallRule,
  randomRequest,
  randomRoutingRule,
  randomToolRule,
} from '../support/random-rules.ts'
import { ROUNDS } from '../support/rounds.ts'
import { writeSettings } from '../support/settings-file.ts'

const SEED = Number(process.env.POLICY_SEED ?? 20261122)

/** Histories on one event log. A past decision reads all policies that were ever there. */
const HISTORIES_PER_LOG = 100

/** Histories that change the same policies and groups at the same time. */
const CONCURRENCY = 5

interface Decision {
  readonly seed: number
  readonly userId: number
  readonly endpoint: string
  readonly request: object
  readonly decided: object
  readonly position: number
}

describe(`deciding past requests again (${ROUNDS.policyHistories} histories, seed ${SEED})`, function () {
  this.timeout(1_800_000)

  it('gives the same decision from its position, whatever has changed since', async () => {
    const counts = { decisions: 0, byPolicy: 0, byUser: 0, overruled: 0, refused: 0, free: 0 }
    const rarest = () => Math.min(...Object.values(counts))
    // The histories must cover every case, so some are added if a rare one is missing.
    const wanted = ROUNDS.policyHistories / 50
    const isEnough = (done: number) =>
      done >= ROUNDS.policyHistories && (rarest() >= wanted || done >= 5 * ROUNDS.policyHistories)
    for (let done = 0; !isEnough(done); ) {
      const count = Math.min(HISTORIES_PER_LOG, ROUNDS.policyHistories)
      await runOnOneLog(
        Array.from({ length: count }, (_, index) => SEED + done + index),
        counts,
      )
      done += count
    }
    expect(rarest(), JSON.stringify(counts)).to.be.at.least(wanted)
  })
})

async function runOnOneLog(seeds: readonly number[], counts: Record<string, number>): Promise<void> {
  const CONFIG = await writeSettings(DECIDABLE)
  const gateway = await startGateway({ CONFIG, LOG_LEVEL: 'silent' })
  try {
    for (const decision of await runHistories(gateway, seeds)) {
      await decideAgain(gateway, decision)
      count(counts, decision)
    }
  } finally {
    await gateway.stop()
  }
}

async function runHistories(gateway: RunningGateway, seeds: readonly number[]): Promise<readonly Decision[]> {
  const world = await createWorld(gateway)
  const remaining = seeds.values()
  const decisions: Decision[] = []
  const work = async () => {
    for (const seed of remaining) decisions.push(await runHistory(world, seed))
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return decisions
}

/** Policies and groups that all histories on a log change. */
interface World {
  readonly gateway: RunningGateway
  readonly users: TestUser[]
  readonly groups: number[]
  readonly policies: number[]
}

async function createWorld(gateway: RunningGateway): Promise<World> {
  const users = await Promise.all(Array.from({ length: 4 }, () => newUser(gateway)))
  const world: World = { gateway, users, groups: [], policies: [] }
  const random = createRandom(SEED)
  for (let n = 0; n < 3; n++) await createGroup(world)
  for (let n = 0; n < 4; n++) await createPolicy(world, random)
  return world
}

const admin = ({ gateway }: World, method: string, path: string, body?: unknown) =>
  asAdmin(gateway, method, path, body)

const KINDS = ['routing', 'firewall', 'tool'] as const

type Kind = (typeof KINDS)[number]

const RANDOM_RULES = { routing: randomRoutingRule, firewall: randomPolicyFirewallRule, tool: randomToolRule }

async function createGroup(world: World): Promise<void> {
  world.groups.push((await admin(world, 'POST', '/admin/groups', { name: 'A group' })).body.data.id)
}

async function createPolicy(world: World, random: Random): Promise<void> {
  const policy = { name: 'A policy', is_enabled: true, priority: 0, applies_to: randomScope(world, random) }
  const { body } = await admin(world, 'POST', '/admin/policies', policy)
  // Another history may have deleted a group that the policy names.
  if (body.data === undefined) return
  world.policies.push(body.data.id)
  for (const kind of KINDS) await createRule(world, body.data.id, kind, random)
}

function createRule(world: World, policy: number, kind: Kind, random: Random) {
  return admin(world, 'POST', `/admin/policies/${policy}/${kind}-rules`, RANDOM_RULES[kind](random))
}

function randomScope({ users, groups }: World, random: Random): object {
  if (random.chance(0.3)) return { everyone: true }
  return random.chance(0.6) ? { groups: [random.pick(groups)] } : { users: [random.pick(users).id] }
}

/** Changes the world at random, and makes a request. */
async function runHistory(world: World, seed: number): Promise<Decision> {
  const random = createRandom(seed)
  for (let change = 0; change < 4; change++) await changeWorld(world, random)
  return decide(random.pick(world.users), random, seed)
}

async function changeWorld(world: World, random: Random): Promise<void> {
  const { users, groups, policies } = world
  const user = random.pick(users)
  const policy = random.pick(policies)
  const path = `/admin/policies/${policy}`
  const kind = random.pick(KINDS)
  const change = random.pick([
    'settings',
    'settings',
    'rule',
    'rule',
    'member',
    'member',
    'plan',
    'own',
    'rare',
  ])
  if (change === 'settings') {
    const field = random.pick([
      { is_enabled: random.chance(0.7) },
      { priority: random.integer(5) },
      { name: `Policy ${random.integer(9)}` },
      { applies_to: randomScope(world, random) },
    ])
    await admin(world, 'PATCH', path, field)
  } else if (change === 'rule') {
    const { body } = await admin(world, 'GET', `${path}/${kind}-rules`)
    const rules: readonly { id: number }[] = body.data ?? []
    if (rules.length < 3) await createRule(world, policy, kind, random)
    else await admin(world, 'DELETE', `${path}/${kind}-rules/${random.pick(rules).id}`)
  } else if (change === 'member') {
    const method = random.pick(['PUT', 'PUT', 'DELETE'])
    await admin(world, method, `/admin/groups/${random.pick(groups)}/members/${user.id}`)
  } else if (change === 'plan') {
    await user.setPlan(random.pick(['free', 'paid', 'paid']))
  } else if (change === 'own') {
    const rule = kind === 'firewall' ? randomFirewallRule(random) : RANDOM_RULES[kind](random)
    await user.call('POST', `/v1/${kind}-rules`, rule)
  } else if (random.chance(0.5)) {
    // Refused while a policy applies to it.
    const { status } = await admin(world, 'DELETE', `/admin/groups/${groups[0]}`)
    if (status !== 200) return
    groups.shift()
    await createGroup(world)
  } else if (policies.length > 2) {
    policies.splice(policies.indexOf(policy), 1)
    await admin(world, 'DELETE', path)
    await createPolicy(world, random)
  }
}

async function decide(user: TestUser, random: Random, seed: number): Promise<Decision> {
  const { endpoint, body: request } = randomRequest(random)
  const path = endpoint === 'chat' ? '/v1/chat/completions' : '/v1/responses'
  const response = await (endpoint === 'route' ? user.route(request) : user.call('POST', path, request))
  const { data } = (await user.call('GET', `/v1/requests/${response.headers.get('x-request-id')}`)).body
  return {
    seed,
    userId: user.id,
    endpoint,
    request,
    decided: decisionIn(data),
    position: data.rules_position,
  }
}

async function decideAgain(gateway: RunningGateway, decision: Decision): Promise<void> {
  const { seed, userId: user_id, endpoint, request, decided, position } = decision
  const body = { user_id, endpoint, request, as_of: position }
  const { status, body: answer } = await asAdmin(gateway, 'POST', '/admin/simulate', body)
  expect(status, JSON.stringify(answer)).to.equal(200)
  const { data } = answer
  const again = { ...decisionIn({ ...data, ...data.targets[0] }), position: data.rules_position }
  expect(again, `history of seed ${seed}`).to.deep.equal({ ...decided, position })
}

function count(counts: Record<string, number>, { decided }: Decision): void {
  const { rule_trace: trace, error } = decided as { rule_trace: { origin?: object }[]; error: object | null }
  const found = {
    decisions: true,
    byPolicy: trace.some(({ origin }) => origin !== undefined),
    byUser: trace.some(({ origin }) => origin === undefined),
    overruled: JSON.stringify(trace).includes('overruled_by_policy'),
    refused: error !== null,
    free: JSON.stringify(decided).includes('"code":"plan"'),
  }
  for (const [name, isFound] of Object.entries(found)) if (isFound) counts[name] = (counts[name] ?? 0) + 1
}
