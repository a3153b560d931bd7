/**
 * Runs many gateways against one event log, one Redis and one PostgreSQL on this machine, and checks what
 * must hold however many there are: `npm run bench:scale [-- NODES]`, 20 by default. Takes a few minutes on
 * two cores, and 130 MB per node. The event log is the tests' server in a process of its own. Exits with 1 if
 * a limit was exceeded, a record is missing, or a node lacks a change.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { newUser } from '../support/new-user.ts'
import { startPostgres } from '../support/postgres.ts'
import { startRedis } from '../support/redis.ts'
import { createRule, succeed } from '../support/two-nodes.ts'
import { waitUntil } from '../support/wait.ts'
import { describeMachine } from './machine.ts'
import { benchFile, startProcess } from './processes.ts'

const NODES = Number(process.argv[2] ?? 20)
const CHANGES = 200
const LIMIT = 100
const REQUESTS = 2000
/** Requests in flight: more would measure how long they wait for a core. */
const CONCURRENCY = 16

const write = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(1)

write(describeMachine())
const redis = await startRedis()
const postgres = await startPostgres()
if (!redis || !postgres) throw new Error('redis-server and PostgreSQL must be installed')
const store = await startProcess(benchFile('eventstore-server.ts'))
const CONFIG = path.join(await makeFolder(), 'settings.yaml')
await writeFile(CONFIG, 'rate_limits: { requests_per_minute: { free: null, paid: null } }\n')
const environment = { EVENTSTORE_URL: store.line, REDIS_URL: redis.url, LEDGER_URL: postgres.url, CONFIG }

const nodes: GatewayProcess[] = []
const node = (n: number) => {
  const found = nodes[n % nodes.length]
  if (found === undefined) throw new Error('no node has started')
  return found
}
let failures = 0
const check = (isRight: boolean, what: string) => {
  write(`${isRight ? 'ok    ' : 'FAILED'} ${what}`)
  if (!isRight) failures += 1
}

try {
  const begun = performance.now()
  const options = { isOptimized: true }
  nodes.push(await startGatewayProcess({ ...environment, LOG_LEVEL: 'warn' }, options))
  const { demoKey } = node(0)
  while (nodes.length < NODES)
    nodes.push(await startGatewayProcess({ ...environment, LOG_LEVEL: 'warn' }, { ...options, demoKey }))
  write(`${NODES} nodes serve after ${seconds(begun)} s`)
  await measurePropagation()
  await checkLimit()
  await checkLedger()
} finally {
  await Promise.all(nodes.map((gateway) => gateway.stop()))
  await Promise.all([store.stop(), redis.stop(), postgres.stop()])
}
process.exit(failures === 0 ? 0 : 1)

/** Runs the call for each number below `count`, on the nodes by turns, a few at a time. */
async function spread<Result>(count: number, call: (n: number, gateway: GatewayProcess) => Promise<Result>) {
  const results: Result[] = []
  let next = 0
  const run = async () => {
    while (next < count) {
      const n = next++
      results.push(await call(n, node(n)))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, run))
  return results
}

/** Changes a rule on all nodes by turns, and reads from their metrics when each change was in force. */
async function measurePropagation(): Promise<void> {
  const { id } = await createRule(node(0), 'never-said', 'warn')
  const before = await readEffects()
  const begun = performance.now()
  for (let n = 0; n < CHANGES; n++)
    await succeed(node(n).call('PATCH', `/v1/firewall-rules/${id}`, { pattern: `word-${n}` }))
  const perSecond = CHANGES / Number(seconds(begun))
  const last = `word-${CHANGES - 1}`
  const applied = async (gateway: GatewayProcess) =>
    (await succeed(gateway.call('GET', `/v1/firewall-rules/${id}`))).pattern === last
  await waitUntil(async () => (await Promise.all(nodes.map(applied))).every(Boolean))
  check(true, `every node has the last of ${CHANGES} changes, ${perSecond.toFixed(0)} per second`)
  const effects = await readEffects()
  const counts = new Map([...effects].map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)]))
  const total = counts.get(Number.POSITIVE_INFINITY) ?? 0
  const quantile = (share: number) => [...counts].find(([, count]) => count >= share * total)?.[0]
  const [p50, p99] = [quantile(0.5), quantile(0.99)].map((bound) => `at most ${(bound ?? 0) * 1000} ms`)
  write(`       from the write to the effect on a node: p50 ${p50}, p99 ${p99} (${total} effects)`)
}

/** Effects of rule changes on all nodes within a time, by its bound in seconds. */
async function readEffects(): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  for (const { url } of nodes) {
    const text = await (await fetch(`${url}/metrics`, { headers: AS_ADMIN })).text()
    for (const [, le, count] of text.matchAll(
      /^signalbox_rule_change_to_effect_seconds_bucket\{le="([^"]+)"[^}]*\} (\d+)/gm,
    )) {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
      counts.set(bound, (counts.get(bound) ?? 0) + Number(count))
    }
  }
  return counts
}

interface ShownUser {
  readonly keys: readonly unknown[]
  readonly requests_per_minute?: number
}

/** Resolves when the condition holds for a user on every node. */
async function untilAllKnow(id: number, isKnown: (user: ShownUser) => boolean): Promise<void> {
  const knows = async ({ call }: GatewayProcess) => {
    const { status, body } = await call('GET', `/admin/users/${id}`, undefined, AS_ADMIN)
    return status === 200 && isKnown(body.data)
  }
  await waitUntil(async () => (await Promise.all(nodes.map(knows))).every(Boolean))
}

/** Sends three times as many requests as a user may, to all nodes. */
async function checkLimit(): Promise<void> {
  const { id, key } = await newUser(node(0), 'paid')
  await succeed(node(0).call('PATCH', `/admin/users/${id}`, { requests_per_minute: LIMIT }, AS_ADMIN))
  const headers = { authorization: `Bearer ${key}` }
  await untilAllKnow(id, ({ keys, requests_per_minute }) => keys.length > 0 && requests_per_minute === LIMIT)
  const begun = performance.now()
  const statuses = await spread(
    3 * LIMIT,
    async (_, { call }) => (await call('GET', '/v1/models', undefined, headers)).status,
  )
  const allowed = statuses.filter((status) => status === 200).length
  const took = seconds(begun)
  check(
    allowed === LIMIT && statuses.every((status) => status === 200 || status === 429),
    `a limit of ${LIMIT} a minute let ${allowed} of ${3 * LIMIT} requests pass, in ${took} s`,
  )
}

/** Sends requests to all nodes, and counts their records on one of them. */
async function checkLedger(): Promise<void> {
  const { id, key } = await newUser(node(0), 'paid')
  const headers = { authorization: `Bearer ${key}` }
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
  await untilAllKnow(id, ({ keys }) => keys.length > 0)
  const begun = performance.now()
  const chats = await spread(REQUESTS, (_, { call }) => call('POST', '/v1/chat/completions', body, headers))
  const took = seconds(begun)
  const answered = chats.filter(({ status }) => status === 200).length
  const count = async () => {
    const { data } = (await node(0).call('GET', `/admin/usage?user=${id}`, undefined, AS_ADMIN)).body
    return data.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0)
  }
  const deadline = performance.now() + 15_000
  await waitUntil(async () => (await count()) >= REQUESTS || performance.now() > deadline)
  const recorded = await count()
  check(
    recorded === REQUESTS && answered === REQUESTS,
    `${recorded} records of ${answered} answers, in ${took} s`,
  )
}
