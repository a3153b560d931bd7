import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { captureOutput } from './captured-output.ts'
import { createFirstUser } from './first-user.ts'
import { makeFolder } from './folders.ts'
import { ADMIN_KEY, createClient, type RunningGateway, TEST_ENVIRONMENT } from './gateway.ts'
import { PROGRAM } from './root.ts'

/** V8's optimizing compiler takes a third of the CPU time of a process that runs for a second. */
const UNOPTIMIZED = ['--no-opt']

/** The program as `npm start` runs it, with several processes if the settings say so. */
export interface GatewayProcess extends RunningGateway {
  readonly process: ChildProcess
  /** Resolves with the exit code once all output has arrived. SIGTERM by default. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface GatewayProcessOptions {
  /** Default: a new folder. */
  readonly dataDir?: string
  /** The key to call with, for a data folder that has users already. */
  readonly demoKey?: string
  /** The working directory. */
  readonly cwd?: string
  /** The path of another `main.js`. */
  readonly program?: string
  /** Runs with V8's optimizing compiler, for tests of memory and durations. */
  readonly isOptimized?: boolean
  /** A file or pipe that receives stderr; `stderr()` is then empty. */
  readonly stderr?: number
  /** A command of the shell that comes first, such as `ulimit -n 64`. */
  readonly prepare?: string
}

/** Starts the compiled program and resolves when it is ready. */
export async function startGatewayProcess(
  environment: Readonly<Record<string, string>> = {},
  options: GatewayProcessOptions = {},
): Promise<GatewayProcess> {
  const dataDir = options.dataDir ?? (await makeFolder())
  const flags = options.isOptimized ? [] : UNOPTIMIZED
  const command = [process.execPath, ...flags, options.program ?? PROGRAM, 'start']
  const child = spawn('sh', ['-c', `${options.prepare ?? ':'}; exec "$@"`, 'sh', ...command], {
    cwd: options.cwd,
    env: { ...baseEnvironment(), ...TEST_ENVIRONMENT, DATA_DIR: dataDir, ...environment },
    stdio: ['ignore', 'pipe', options.stderr ?? 'pipe'],
  }) as ChildProcessByStdio<null, Readable, Readable | null>
  const output = captureOutput()
  child.stderr?.setEncoding('utf8').on('data', output.write)
  const lines = createInterface(child.stdout)
  const exited = once(child, 'close') as Promise<[number | null]>
  void exited.then(output.end)
  // A test that timed out while the gateway started does not stop it.
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  void exited.then(() => process.off('exit', killAtExit))

  const readyLine = await Promise.race([once(lines, 'line'), exited.then(() => undefined)])
  if (readyLine === undefined) throw new Error(`the gateway did not start:\n${output.text()}`)
  const { base_url: url, route_base_url: routeUrl } = JSON.parse(readyLine[0])
  // The banner with the key is written before the ready line, but to another pipe.
  if (child.stderr !== null) await output.contains('Signalbox serves at')
  const shownKey = output.text().match(/SIGNALBOX_KEY=(\S+)/)?.[1]
  // With a provider, the program creates no user of its own.
  const isEmpty =
    child.stderr === null || (shownKey === undefined && output.text().includes('There is no user yet'))
  const demoKey =
    options.demoKey ??
    (isEmpty ? await createFirstUser(url, environment.ADMIN_KEY ?? ADMIN_KEY) : (shownKey ?? ''))

  return {
    ...createClient(url, demoKey),
    routeUrl,
    dataDir,
    process: child,
    stderr: output.text,
    wrote: output.contains,
    stderrChanged: output.changed,
    hasEnded: output.hasEnded,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = await exited
      return code
    },
  }
}

/** Starts the program and leaves it running. */
export function spawnSignalbox(
  args: readonly string[],
  environment: Record<string, string>,
  stdout: 'pipe' | number = 'pipe',
) {
  const env = { ...baseEnvironment(), ...environment }
  return spawn(process.execPath, [...UNOPTIMIZED, PROGRAM, ...args], {
    env,
    stdio: ['ignore', stdout, 'pipe'],
  }) as ChildProcessByStdio<null, Readable, Readable>
}

/** Runs a command to its end, whatever its exit code. */
export async function runSignalbox(
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd?: string,
) {
  const env = { ...baseEnvironment(), ...environment }
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...UNOPTIMIZED, PROGRAM, ...args],
      { env, cwd },
    )
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

/** This process's environment without anything that configures a gateway. */
function baseEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) }
}
