/**
 * Measures disk and memory usage for docs/guides/sizing.md: `npm run build`, then `npx tsx
 * test/bench/sizes.ts`. Takes a minute or two and 500 MB in TMPDIR. Linux only; not part of the tests.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { generateLog } from './generate-log.ts'

const rule = (n: number) => ({
  name: `rule ${n}`,
  is_enabled: true,
  scope: 'prompt',
  type: 'regex',
  pattern: `\\bsecret[-_ ]?${n}\\b`,
  action: 'mask',
  replacement: '***',
  priority: n,
})

const empty = await startGatewayProcess()
const emptyMemory = await readMemory(empty)
report('memory of a gateway without users', emptyMemory)
await measureRuleEvents(empty)
for (const characters of [500, 5000, 50_000]) await measureResponses(empty, characters)
await measureLogLines(empty)
await empty.stop()
await measureUsers(20_000, 10)
await measureUsers(2000, 200)

/** Uses the endpoints, so that events have all their metadata. */
async function measureRuleEvents(gateway: GatewayProcess): Promise<void> {
  const before = sizeOf(gateway.dataDir, 'events.db')
  for (let n = 0; n < 500; n++) await ask(gateway, '/v1/firewall-rules', rule(n))
  report(
    'disk per rule made (its number is an event, too)',
    (sizeOf(gateway.dataDir, 'events.db') - before) / 500,
  )
}

async function measureResponses(gateway: GatewayProcess, characters: number): Promise<void> {
  const before = sizeOf(gateway.dataDir, 'ledger.db')
  const input = 'Lorem ipsum dolor sit amet. '.repeat(characters / 28)
  let text = 0
  for (let n = 0; n < 200; n++) {
    const { body } = await ask(gateway, '/v1/responses', { input })
    text += input.length + JSON.stringify(body.output).length
  }
  const disk = sizeOf(gateway.dataDir, 'ledger.db') - before
  report(`disk per stored response, ${Math.round(text / 200)} bytes of input and output`, disk / 200)
}

async function measureLogLines(gateway: GatewayProcess): Promise<void> {
  const before = gateway.stderr().length
  for (let n = 0; n < 100; n++)
    await ask(gateway, '/v1/chat/completions', { messages: [{ role: 'user', content: 'hello' }] })
  report('log per request', (gateway.stderr().length - before) / 100)
}

/** Memory at the start, and after one request of every user, which compiles the user's rules. */
async function measureUsers(users: number, eventsPerUser: number): Promise<void> {
  const dataDir = await makeFolder()
  const events = await generateLog(dataDir, users, eventsPerUser)
  report(
    `\n${users} users with ${eventsPerUser} rule events each: disk per event`,
    sizeOf(dataDir, 'events.db') / events,
  )
  const gateway = await startGatewayProcess({ LOG_LEVEL: 'silent' }, { dataDir, demoKey: 'tr_1' })
  const memory = (await readMemory(gateway)) - emptyMemory
  report('memory per user, nobody has asked', memory / users)
  report('memory per rule event', memory / (users * eventsPerUser))
  const asking = Math.min(users, 2000)
  for (let n = 1; n <= asking; n++) {
    const messages = [{ role: 'user', content: 'hello' }]
    await ask(gateway, '/v1/chat/completions', { messages }, `tr_${n}`)
  }
  const active = (await readMemory(gateway)) - emptyMemory - memory
  report(`more memory per user when ${asking} have asked`, active / asking)
  await gateway.stop()
  const [snapshot = ''] = await readdir(path.join(dataDir, 'snapshots'))
  report('a snapshot, per event', (await stat(path.join(dataDir, 'snapshots', snapshot))).size / events)
}

async function ask(gateway: GatewayProcess, path: string, body: unknown, key = gateway.demoKey) {
  const answer = await gateway.call('POST', path, body, { authorization: `Bearer ${key}` })
  if (answer.status > 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer
}

/** Returns the size after a checkpoint of the write-ahead log. */
function sizeOf(dataDir: string, file: string): number {
  const database = new SqliteDatabase(path.join(dataDir, file))
  database.pragma('wal_checkpoint(PASSIVE)')
  const pages = Number(database.pragma('page_count', { simple: true }))
  database.close()
  return pages * 4096
}

async function readMemory({ process }: GatewayProcess): Promise<number> {
  const status = await readFile(path.join('/proc', String(process.pid), 'status'), 'utf8')
  return Number(status.match(/VmRSS:\s+(\d+)/)?.[1]) * 1024
}

function report(what: string, bytes: number): void {
  const size = bytes > 1e6 ? `${(bytes / 2 ** 20).toFixed(0)} MiB` : `${bytes.toFixed(0)} bytes`
  process.stdout.write(`${what}: ${size}\n`)
}
