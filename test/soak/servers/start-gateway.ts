import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { ADMIN_KEY } from '../../support/gateway.ts'
import { INSPECTED } from '../../support/heap.ts'
import { providersAt } from '../../support/providers.ts'
import { PROGRAM } from '../../support/root.ts'
import { treeOf } from './process-tree.ts'
import { FLAKY_KEY } from './settings.ts'

/** The built gateway in a separate process, with or without workers. */
export interface GatewayProcess {
  readonly url: string
  readonly routeUrl: string
  readonly pid: number
  /** The file with its banner and log. */
  readonly logFile: string
  /** True once it has ended for any reason. */
  hasEnded(): boolean
  signal(name: NodeJS.Signals): void
  /** Kills all of its processes at once, like a power failure. */
  kill(): Promise<void>
  /** Stops it gracefully and resolves with the exit code. */
  stop(): Promise<number | null>
}

export interface Place {
  readonly dataDir: string
  readonly settingsFile: string
  readonly providersUrl: string
  readonly logFile: string
  readonly workers: number
}

/** Resolves when it is ready. Its log is written to a file, so that no reader slows it down. */
export async function startGateway(place: Place): Promise<GatewayProcess> {
  const { dataDir, settingsFile, logFile, workers } = place
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [PROGRAM, 'start'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_OPTIONS: `${INSPECTED.NODE_OPTIONS} --trace-warnings`,
      ...providersAt({ url: place.providersUrl }),
      [FLAKY_KEY]: 'provider-key',
      PORT: '0',
      ROUTE_PORT: '0',
      ADMIN_KEY,
      DATA_DIR: dataDir,
      CONFIG: settingsFile,
      ...(workers > 1 && { WORKERS: String(workers) }),
    },
    stdio: ['ignore', 'pipe', log],
    // A separate process group: signals of the terminal are meant for the soak.
    detached: true,
  })
  closeSync(log)
  const pid = child.pid ?? 0
  const exited = once(child, 'exit') as Promise<[number | null]>
  const killTree = () => {
    for (const each of treeOf(pid)) killQuietly(each)
  }
  process.once('exit', killTree)
  exited.then(() => process.off('exit', killTree))
  if (child.stdout === null) throw new Error('the gateway has no stdout')
  const lines = createInterface(child.stdout)
  const first = await Promise.race([once(lines, 'line'), exited.then(() => undefined)])
  if (first === undefined) throw new Error(`the gateway did not start:\n${readFileSync(logFile, 'utf8')}`)
  const { base_url: url, route_base_url: routeUrl } = JSON.parse(first[0])

  return {
    url,
    routeUrl,
    pid,
    logFile,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    signal: (name) => child.kill(name),
    async kill() {
      killTree()
      await exited
    },
    async stop() {
      child.kill('SIGTERM')
      const late = delay(STOP_MS, undefined, { ref: false }).then(killTree)
      const [code] = await Promise.race([exited, late.then(() => exited)])
      return code
    },
  }
}

/** Exceeds the time that requests in flight may take. */
const STOP_MS = 45_000

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
