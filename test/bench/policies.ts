/**
 * Measures what policies cost: `npm run build`, then `npx tsx test/bench/policies.ts [users] [turns]`, by
 * default 100,000 and 20. Compares the memory of gateways with that many users, without policies and with 5
 * of 200 rules for everyone, and the CPU time of a request under 3 policies with that of one with the same
 * rules as its own. Only figures of the same run are comparable. Needs 1 GB in TMPDIR. 0 users: only the
 * latter.
 */
import { cp, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../support/folders.ts'
import { ask, CHAT } from './case.ts'
import { administer, type BenchGateway, startGateway } from './gateway.ts'
import { generateLog } from './generate-log.ts'
import { load } from './load.ts'
import { median } from './median.ts'
import { benchFile, startProcess } from './processes.ts'
import { writePrompt } from './prompts.ts'

const [users = 100_000, turns = 20] = process.argv.slice(2).map(Number)
const CONNECTIONS = 32
const TURN_SECONDS = 0.5

const write = (line: string) => process.stdout.write(`${line}\n`)
const folder = await makeFolder()
const upstream = await startProcess(benchFile('upstream.ts'))

/** 100 firewall rules and 100 routing rules that match nothing. */
const rules = (set: number) =>
  Array.from({ length: 100 }, (_, n) => {
    const general = { name: `rule ${n}`, is_enabled: true, priority: n }
    const pattern = n % 2 === 0 ? { type: 'substring', pattern: `classified ${set} ${n}` } : regex(set, n)
    return [
      { kind: 'firewall', op: 'create', data: { ...general, ...pattern, scope: 'prompt', action: 'block' } },
      {
        kind: 'routing',
        op: 'create',
        data: {
          ...general,
          match_json: { contains: [`topic ${set} ${n}`] },
          action_json: { set_mode: 'cost' },
        },
      },
    ]
  }).flat()
const regex = (set: number, n: number) => ({ type: 'regex', pattern: `\\bsecret-${set}[-_ ]?${n}\\b` })

async function addPolicies({ url }: BenchGateway, count: number): Promise<void> {
  for (let set = 0; set < count; set++) {
    const policy = { name: `policy ${set}`, is_enabled: true, priority: set, applies_to: { everyone: true } }
    const { id } = await administer(`${url}/admin/policies`, policy)
    await administer(`${url}/admin/policies/${id}/rules/batch`, { operations: rules(set) })
  }
}

async function addOwnRules({ url, headers }: BenchGateway, sets: number): Promise<void> {
  for (let set = 0; set < sets; set++) {
    const body = JSON.stringify({ operations: rules(set) })
    const response = await fetch(`${url}/v1/rules/batch`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(await response.text())
  }
}

/** Serves requests and returns CPU microseconds of the main thread per request. */
async function serve({ url, headers, process }: BenchGateway, content: string): Promise<number> {
  const before = process.mainThreadSeconds()
  const aim = { url: url + CHAT, headers, body: ask(content) }
  const { requests, failures } = await load(aim, { connections: CONNECTIONS, seconds: TURN_SECONDS })
  if (failures > 0) throw new Error(`${failures} of ${requests} requests failed`)
  return ((process.mainThreadSeconds() - before) / requests) * 1e6
}

async function compareCost(): Promise<void> {
  const start = (name: string) => startGateway({ folder, name, upstream: upstream.line })
  const [own, policies] = [await start('own'), await start('policies')]
  await addOwnRules(own, 3)
  await addPolicies(policies, 3)
  for (const length of [60, 3600]) {
    const content = writePrompt(length)
    const costs: [number[], number[]] = [[], []]
    for (const gateway of [own, policies]) for (let n = 0; n < 4; n++) await serve(gateway, content)
    for (let turn = 0; turn < turns; turn++)
      for (const which of turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const))
        costs[which].push(await serve(which === 0 ? own : policies, content))
    for (const [figure, choose] of [
      ['median', median],
      ['least', (values: readonly number[]) => Math.min(...values)],
    ] as const) {
      const [ofOwn = 0, ofPolicies = 0] = costs.map(choose)
      write(
        `a prompt of ${length} characters, ${figure} of ${turns}: own rules ${ofOwn.toFixed(1)} µs, 3 policies ` +
          `${ofPolicies.toFixed(1)} µs: ${(ofPolicies / ofOwn).toFixed(3)} (at most 1.1)`,
      )
    }
  }
  await Promise.all([own.process.stop(), policies.process.stop()])
}

/** Resident memory after a start from a snapshot and requests of a user, the median of some time. */
async function settle(name: string): Promise<number> {
  const gateway = await startGateway({ folder, name, upstream: upstream.line, key: 'tr_1' })
  const levels: number[] = []
  for (let n = 0; n < 12; n++) {
    await serve(gateway, writePrompt(60))
    if (n >= 4) levels.push(gateway.process.memory().now)
  }
  await gateway.process.stop()
  return median(levels)
}

async function compareMemory(): Promise<void> {
  const [without, under] = ['without', 'under']
  const events = await generateLog(path.join(folder, without), users, 0)
  // Once, so that both have a snapshot.
  await (await startGateway({ folder, name: without, upstream: upstream.line, key: 'tr_1' })).process.stop()
  await cp(path.join(folder, without), path.join(folder, under), { recursive: true })
  const gateway = await startGateway({ folder, name: under, upstream: upstream.line, key: 'tr_1' })
  await addPolicies(gateway, 5)
  await gateway.process.stop()
  const levels: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round++) {
    levels[0].push(await settle(without))
    levels[1].push(await settle(under))
  }
  const [before = 0, after = 0] = levels.map(median)
  write(
    `${users} users (${events} events): ${before.toFixed(0)} MB without policies, ${after.toFixed(0)} MB ` +
      `under 5 of 200 rules: ${(after - before).toFixed(0)} MB more (at most 30), ${JSON.stringify(levels)}`,
  )
}

await compareCost()
if (users > 0) await compareMemory()
await upstream.stop()
await rm(folder, { recursive: true })
process.exit()
