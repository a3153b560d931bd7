/**
 * Measures the start time and the memory of a gateway with a large event log: `npm run build`, then `npx tsx
 * test/bench/scale.ts [users] [rule events per user]`. Defaults: 100,000 and 10. Needs 1.5 GB in TMPDIR.
 */
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../support/folders.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import { generateLog } from './generate-log.ts'

const [users = 100_000, eventsPerUser = 10] = process.argv.slice(2).map(Number)
const dataDir = await makeFolder()

const events = await timed(() => generateLog(dataDir, users, eventsPerUser))
report(`${events.result} events of ${users} users are generated`, events.seconds)

const first = await start('without a snapshot')
const taken = await timed(() => first.until('snapshot written'))
report('snapshot written in the background after', taken.seconds)
await first.gateway.stop()

const second = await start('with a snapshot')
const { gateway } = second
const answer = await gateway.call('GET', '/v1/routing-rules', undefined, { authorization: 'Bearer tr_1' })
report(`the first user's rules are there: ${answer.body.data.length} routing rules; asking took`, 0)
await gateway.stop('SIGKILL')
await rm(dataDir, { recursive: true })

async function start(how: string) {
  const { result: gateway, seconds } = await timed(() =>
    startGatewayProcess({ LOG_LEVEL: 'info' }, { dataDir, demoKey: 'tr_1' }),
  )
  report(`ready ${how}, with ${await readMemory(gateway)}, after`, seconds)
  return {
    gateway,
    async until(text: string) {
      while (!gateway.stderr().includes(text)) await new Promise((resolve) => setTimeout(resolve, 20))
      report(`then ${await readMemory(gateway)}`, 0)
    },
  }
}

/** Resident memory of the process: current and maximum. */
async function readMemory({ process }: GatewayProcess): Promise<string> {
  const status = await readFile(path.join('/proc', String(process.pid), 'status'), 'utf8')
  const megabytes = (name: string) => Math.round(Number(status.match(`${name}:\\s+(\\d+)`)?.[1]) / 1024)
  return `${megabytes('VmRSS')} MiB RSS (peak ${megabytes('VmHWM')})`
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; seconds: number }> {
  const begun = performance.now()
  const result = await work()
  return { result, seconds: (performance.now() - begun) / 1000 }
}

function report(what: string, seconds: number): void {
  process.stdout.write(`${what}${seconds > 0 ? ` ${seconds.toFixed(2)} s` : ''}\n`)
}
