/**
 * Measures what signing checkpoints costs writers, with and without it by turns: appends to the event log,
 * and rule changes through a gateway, with 1 and with 8 writers, on the embedded log and on the test server
 * of EventStoreDB. `npx tsx test/bench/checkpoints.ts [turns] [seconds of a turn]`. ONLY=log or ONLY=gateway
 * measures one of both, STORE=embedded or STORE=server one of the logs. Only ratios of a run mean something.
 */
import { fileURLToPath } from 'node:url'
import { openLongRunningState } from '../../config/gateway/state.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { createClock } from '../../core/util/clock.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { captureOutput } from '../support/captured-output.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, createClient, TEST_ENVIRONMENT } from '../support/gateway.ts'
import { load } from './load.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'
import { createUsers } from './store-load.ts'

const [turns = 20, seconds = 2] = process.argv.slice(2).map(Number)
const WARM_UP_TURNS = 3
const WRITERS = [1, 8]

type Store = 'embedded' | 'server'

/** Appends or changes in a turn, its duration, and the CPU time that the gateway's side took. */
interface Turn {
  readonly count: number
  readonly seconds: number
  readonly cpuSeconds: number
}

/** Something that writes, with checkpoints or without. */
interface Subject {
  write(writers: number): Promise<Turn>
  close(): Promise<void>
}

const print = (line: string) => process.stdout.write(`${line}\n`)

async function compare(what: string, open: (signs: boolean) => Promise<Subject>): Promise<void> {
  const subjects = [await open(false), await open(true)] as const
  for (const writers of WRITERS) {
    const results: [Turn[], Turn[]] = [[], []]
    for (let turn = -WARM_UP_TURNS; turn < turns; turn++)
      for (const which of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const result = await subjects[which].write(writers)
        if (turn >= 0) results[which].push(result)
      }
    for (const [unit, figureOf] of [
      ['second', ({ count, seconds }: Turn) => count / seconds],
      ['second of CPU time', ({ count, cpuSeconds }: Turn) => count / cpuSeconds],
    ] as const) {
      const figures = results.map((list) => list.map(figureOf))
      const [without = 0, signing = 0] = figures.map(median)
      const ratios = (figures[1] ?? []).map((figure, turn) => figure / (figures[0]?.[turn] ?? 1))
      print(
        `${what}, ${writers} writers, per ${unit}: ${without.toFixed(0)} without, ` +
          `${signing.toFixed(0)} with checkpoints: ${(signing / without).toFixed(3)}; ` +
          `median of the ratios ${median(ratios).toFixed(3)}`,
      )
    }
  }
  for (const subject of subjects) await subject.close()
}

/** Writers that append to the log of this process, which also follows it. */
async function openAppends(url: string | null, signs: boolean): Promise<Subject> {
  const settings = {
    data_dir: await makeFolder(),
    eventstore_url: url,
    snapshots: { every_events: Number.MAX_SAFE_INTEGER },
    audit: { require_reason: false, export: null },
  }
  const state = await openLongRunningState(
    settings,
    createLogger('silent', { destination: captureOutput() }),
    {
      signal: new AbortController().signal,
      decorateLog: (log) => log,
      takesSnapshots: signs,
    },
  )
  const clock = createClock()
  let lastUser = 0

  /** Creates a user with a rule, and changes it until the time is over. Returns the number of changes. */
  async function keepAppending(userId: number, end: number): Promise<number> {
    const stream = `rules-${userId}`
    const author = {
      actor: { type: 'key', id: 'key_000000000000000000000001', name: 'Ada' } as const,
      requestId: 'req_4kT0cBbkGm9WpN2vXyZ71AqQ',
    }
    const append = (event: DomainEvent, to: string, expectedRevision: number) =>
      state.log.append(to, [event], {
        expectedRevision,
        metadata: createMetadata(author, clock()),
      })
    await append(
      { type: 'UserCreated', data: { userId, name: 'a user', plan: 'paid' } },
      `user-${userId}`,
      -1,
    )
    const content = firewallRuleBody({ name: 'a rule', pattern: 'a pattern', action: 'warn' })
    const ruleId = 1_000_000 + userId
    await append(
      { type: 'FirewallRuleCreated', data: { userId, ruleId, content } } as DomainEvent,
      stream,
      -1,
    )
    let count = 0
    for (; performance.now() < end; count++) {
      const changes = { name: `the name of a rule after ${count} changes`, pattern: `pattern ${count}` }
      await append({ type: 'FirewallRuleUpdated', data: { userId, ruleId, changes } }, stream, count)
    }
    return count
  }

  return {
    async write(writers) {
      const before = process.cpuUsage()
      const begun = performance.now()
      const end = begun + seconds * 1000
      const users = Array.from({ length: writers }, () => ++lastUser)
      const counts = await Promise.all(users.map((userId) => keepAppending(userId, end)))
      const elapsed = (performance.now() - begun) / 1000
      const { user, system } = process.cpuUsage(before)
      return { count: sum(counts), seconds: elapsed, cpuSeconds: (user + system) / 1e6 }
    },
    close: () => state.close(),
  }
}

const SOURCE = fileURLToPath(new URL('../../config/main.ts', import.meta.url))

/** Clients that change a rule each, through a gateway of their own process. */
async function openChanges(url: string | null, signs: boolean): Promise<Subject> {
  const args = ['--import', 'tsx', ...(signs ? [] : ['--import', WITHOUT_CHECKPOINTS]), SOURCE, 'start']
  const gateway = await startProcess(args, {
    ...TEST_ENVIRONMENT,
    LOG_LEVEL: 'warn',
    DATA_DIR: await makeFolder(),
    ...(url !== null && { EVENTSTORE_URL: url }),
  })
  const { base_url } = JSON.parse(gateway.line)
  return {
    write: (writers) => changeRules(gateway, base_url, writers),
    close: () => gateway.stop(),
  }
}

const WITHOUT_CHECKPOINTS = fileURLToPath(new URL('without-checkpoints.ts', import.meta.url))

/** With users of their own, because the length of a history counts as well. */
async function changeRules(gateway: ServerProcess, url: string, writers: number): Promise<Turn> {
  const client = createClient(url, ADMIN_KEY)
  const keys = await createUsers(client, writers)
  const aims = await Promise.all(
    keys.map(async (key) => {
      const headers = { authorization: `Bearer ${key}` }
      const rule = firewallRuleBody({ name: 'a rule', pattern: 'a pattern', action: 'warn' })
      const { body } = await client.call('POST', '/v1/firewall-rules', rule, headers)
      const { id } = body.data
      // The same content again is a change as well.
      const operations = [{ kind: 'firewall', op: 'update', id, data: { name: 'another name' } }]
      return { url: `${url}/v1/rules/batch`, headers, body: JSON.stringify({ operations }) }
    }),
  )
  const before = gateway.cpuSeconds()
  const begun = performance.now()
  const loads = await Promise.all(aims.map((aim) => load(aim, { connections: 1, seconds })))
  const elapsed = (performance.now() - begun) / 1000
  const cpuSeconds = gateway.cpuSeconds() - before
  const failures = sum(loads.map((one) => one.failures))
  if (failures > 0) throw new Error(`${failures} changes failed`)
  return { count: sum(loads.map(({ requests }) => requests)), seconds: elapsed, cpuSeconds }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

print(describeMachine())
const wanted = <Name extends string>(names: readonly Name[], only: string | undefined) =>
  names.filter((name) => only === undefined || name === only)
for (const store of wanted<Store>(['embedded', 'server'], process.env.STORE))
  for (const kind of wanted(['log', 'gateway'] as const, process.env.ONLY)) {
    // One server for each, so that neither follows the events of the other.
    const servers: ServerProcess[] = []
    await compare(`${store}, ${kind === 'log' ? 'appends' : 'changes through a gateway'}`, async (signs) => {
      const server = store === 'server' ? await startProcess(benchFile('eventstore-server.ts')) : undefined
      if (server) servers.push(server)
      return (kind === 'log' ? openAppends : openChanges)(server?.line ?? null, signs)
    })
    for (const server of servers) await server.stop()
  }
process.exit()
