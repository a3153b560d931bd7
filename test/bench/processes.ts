import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A server in a process of its own. */
export interface ServerProcess {
  /** The first line that it printed. */
  readonly line: string
  readonly startMs: number
  stderr(): string
  /** Seconds of processor time so far. */
  cpuSeconds(): number
  /** Megabytes: at present, and at most so far. */
  memory(): { now: number; peak: number }
  stop(): Promise<void>
}

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts a program and resolves with its first line. */
export async function startProcess(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<ServerProcess> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr = (stderr + text).slice(-20_000)
  })
  const exited = once(child, 'exit')
  const first = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => undefined),
  ])
  if (first === undefined) throw new Error(`${args.join(' ')} did not start:\n${stderr}`)
  return {
    line: first[0],
    startMs: performance.now() - begun,
    stderr: () => stderr,
    cpuSeconds: () => readCpu(child.pid ?? 0),
    memory: () => readMemory(child.pid ?? 0),
    async stop() {
      child.kill('SIGTERM')
      await exited
      children.delete(child)
    },
  }
}

/** The arguments that run a bench file from source. */
export function benchFile(name: string): readonly string[] {
  return ['--import', 'tsx', fileURLToPath(new URL(name, import.meta.url))]
}

/** Linux only, as the bench is; 100 ticks a second. */
function readCpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function readMemory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))?.[1] ?? 0) / 1024
  return { now: read('VmRSS'), peak: read('VmHWM') }
}
