/**
 * Measures callers with tokens of an identity provider: `npm run bench:identity`. First, requests with an API
 * key and with a token of the same user, in turns; then so many subjects that are seen for the first time.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Pool } from 'undici'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { CHAT } from './case.ts'
import { administer, type BenchGateway, startGateway } from './gateway.ts'
import { describeMachine } from './machine.ts'
import { median } from './median.ts'
import { benchFile, startProcess } from './processes.ts'

const CONNECTIONS = 32
const WARM_SECONDS = Number(process.env.BENCH_SECONDS ?? 15)
const ROUNDS = 20
const USERS = Number(process.env.BENCH_USERS ?? 50_000)

const write = (line: string) => process.stdout.write(`${line}\n`)
const folder = mkdtempSync(path.join(os.tmpdir(), 'signalbox-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const provider = await startIdentityProvider()
const upstream = await startProcess(benchFile('upstream.ts'))
const callers = [
  { issuer: provider.issuer, audience: 'signalbox', groups: { claim: 'groups', create: true } },
]
const gateway = await startGateway({
  ...{ folder, name: 'identity', upstream: upstream.line, rules: 100 },
  settings: { identity: { callers } },
})
const expiry = Math.floor(Date.now() / 1000) + 3600
const sign = (subject: string) =>
  provider.sign({ sub: subject, exp: expiry, groups: [`team ${subject.length % 50}`] })
const pool = new Pool(gateway.url, { connections: CONNECTIONS })
let sent = 0

async function ask(authorization: string): Promise<number> {
  const begun = performance.now()
  sent++
  const content = `Note ${sent} of the day. The committee met on a rainy morning.`
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: CHAT,
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }),
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
  return performance.now() - begun
}

/** Asks on all connections until there is nothing left to send. Times are in milliseconds. */
async function askAll(next: () => string | undefined): Promise<number[]> {
  const times: number[] = []
  const run = async () => {
    for (let sender = next(); sender !== undefined; sender = next()) times.push(await ask(sender))
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, run))
  return times.sort((a, b) => a - b)
}

async function measure({ process: server }: BenchGateway, authorization: string, seconds: number) {
  const [cpu, begun] = [server.cpuSeconds(), performance.now()]
  const end = begun + seconds * 1000
  const { length } = await askAll(() => (performance.now() < end ? authorization : undefined))
  const perSecond = length / ((performance.now() - begun) / 1000)
  return { perSecond, cpuMicros: ((server.cpuSeconds() - cpu) * 1e6) / length }
}

write(describeMachine())
const subject = { issuer: provider.issuer, subject: 'first' }
await administer(`${gateway.url}/admin/users/1/identity`, subject, 'PUT')
const [key = '', token] = [gateway.headers.authorization, `Bearer ${await sign('first')}`]
for (const sender of [key, token]) await measure(gateway, sender, WARM_SECONDS)
const rounds: { perSecond: number; cpuMicros: number }[] = []
for (let round = 0; round < ROUNDS; round++) {
  const first = round % 2 === 0 ? [key, token] : [token, key]
  const figures = new Map<string, Awaited<ReturnType<typeof measure>>>()
  for (const sender of first) figures.set(sender, await measure(gateway, sender, 1))
  const [ofKey, ofToken] = [figures.get(key), figures.get(token)]
  if (ofKey === undefined || ofToken === undefined) continue
  rounds.push({
    perSecond: ofToken.perSecond / ofKey.perSecond,
    cpuMicros: ofToken.cpuMicros / ofKey.cpuMicros,
  })
}
const medianOf = (name: 'perSecond' | 'cpuMicros') => median(rounds.map((round) => round[name])).toFixed(3)
write(`tokens ÷ API keys: requests/s ${medianOf('perSecond')} (goal 0.98), CPU time ${medianOf('cpuMicros')}`)

const before = gateway.process.memory().now
const tokens: string[] = []
for (let index = 0; index < USERS; index++) tokens.push(`Bearer ${await sign(`person ${index}`)}`)
for (const [what, list] of [
  ['seen for the first time', tokens],
  ['seen again', tokens.slice(0, 10_000)],
] as const) {
  let next = 0
  const [cpu, begun] = [gateway.process.cpuSeconds(), performance.now()]
  const times = await askAll(() => list[next++])
  const perSecond = list.length / ((performance.now() - begun) / 1000)
  const micros = ((gateway.process.cpuSeconds() - cpu) * 1e6) / list.length
  const at = (share: number) => `${(times[Math.floor(times.length * share)] ?? 0).toFixed(1)} ms`
  write(
    `${list.length} subjects ${what}: ${perSecond.toFixed(0)}/s, ${micros.toFixed(0)} µs of CPU time, ` +
      `p50 ${at(0.5)}, p99 ${at(0.99)}`,
  )
}
write(`resident memory ${before} MB before, ${gateway.process.memory().now} MB after`)
await pool.close()
await Promise.all([gateway.process.stop(), upstream.stop(), provider.stop()])
