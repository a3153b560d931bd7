/**
 * Measures calls of tools: `npm run bench:tools`. A bare proxy of Koa, the gateway without rules, and the
 * gateway with 50 tool rules that test arguments, in turns. The ledger is on.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { administer, type BenchGateway, startGateway } from './gateway.ts'
import { type Aim, load } from './load.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'
import { benchFile, type ServerProcess, startProcess } from './processes.ts'

const RULES = 50
const CONNECTIONS = 16
const WARM_SECONDS = Number(process.env.BENCH_SECONDS ?? 15)
const ROUNDS = 10

interface Target extends Aim {
  readonly name: string
  readonly process: ServerProcess
}

interface Figures {
  readonly perSecond: number
  readonly cpuMicros: number
  /** One call at a time. */
  readonly p50: number
}

const write = (line: string) => process.stdout.write(`${line}\n`)
const folder = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const REVISION = '2026-07-28'
const HEADERS = {
  accept: 'application/json, text/event-stream',
  ...{ 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': 'read_file' },
}
const _meta = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
}
const body = Array.from({ length: 1000 }, (_, id) => {
  const params = { name: 'read_file', arguments: { path: `/srv/files/${id}.txt`, lines: 12 }, _meta }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
})

const upstream = await startProcess(benchFile('tool-server.ts'))
const bare = await startProcess(benchFile('reference.ts'), { UPSTREAM: upstream.line })

async function addGateway(name: string, rules: number): Promise<Target> {
  const gateway: BenchGateway = await startGateway({
    ...{ folder, name, upstream: upstream.line, settings: { mcp: { allow_private_addresses: true } } },
  })
  const server = { name: 'bench', url: upstream.line, default: 'allow', new_tools: 'approved' }
  await administer(`${gateway.url}/admin/tool-servers`, server)
  for (let index = 0; index < rules; index++)
    await administer(`${gateway.url}/admin/users/1/tool-rules`, {
      ...{ name: `rule ${index}`, is_enabled: true, priority: 0, action: 'deny' },
      match: { tool: 'read_*', arguments: { '/path': { contains: `/secret-${index}/` } } },
    })
  const headers = { ...HEADERS, ...gateway.headers }
  return { name, url: `${gateway.url}/mcp/bench`, headers, body, process: gateway.process }
}

async function measure(target: Target, seconds: number): Promise<Figures> {
  const cpu = target.process.cpuSeconds()
  const many = await load(target, { connections: CONNECTIONS, seconds })
  if (many.failures > 0) throw new Error(`${target.name}: ${many.failures} calls failed`)
  const cpuMicros = ((target.process.cpuSeconds() - cpu) * 1e6) / many.requests
  const { p50 } = await load(target, { connections: 1, seconds: seconds / 3 })
  return { perSecond: many.perSecond, cpuMicros, p50 }
}

const targets: readonly Target[] = [
  { name: 'bare Koa', url: `${bare.line}/`, headers: HEADERS, body, process: bare },
  await addGateway('without rules', 0),
  await addGateway(`${RULES} rules`, RULES),
]
write(describeMachine())
for (const target of targets) {
  const response = await fetch(target.url, {
    ...{ method: 'POST', body: body[0] ?? '' },
    headers: { ...target.headers, 'content-type': 'application/json' },
  })
  const text = await response.text()
  if (!text.includes('12 lines')) throw new Error(`${target.name}: ${response.status} ${text}`)
  await load(target, { connections: CONNECTIONS, seconds: WARM_SECONDS })
}
const seen = targets.map(() => [] as Figures[])
for (let round = 0; round < ROUNDS; round++)
  for (const [index, target] of targets.entries()) seen[index]?.push(await measure(target, 1))
const [reference] = seen
for (const [index, { name, process }] of targets.entries()) {
  const rounds = seen[index] ?? []
  const figure = (of: keyof Figures) => median(rounds.map((round) => round[of]))
  const ratio = (of: keyof Figures) =>
    median(rounds.map((round, at) => round[of] / (reference?.[at]?.[of] ?? 0))).toFixed(2)
  const added = median(rounds.map(({ p50 }, at) => p50 - (reference?.[at]?.p50 ?? 0)))
  write(
    `${name}: ${figure('perSecond').toFixed(0)} calls/s (${ratio('perSecond')} of bare Koa, goal 0.8), ` +
      `${figure('cpuMicros').toFixed(0)} µs of CPU time (${ratio('cpuMicros')}), one at a time p50 ` +
      `${figure('p50').toFixed(2)} ms (adds ${added.toFixed(2)}, goal 1.00), ${process.memory().now.toFixed(0)} MB`,
  )
}
await Promise.all(targets.map(({ process }) => process.stop()))
await upstream.stop()
