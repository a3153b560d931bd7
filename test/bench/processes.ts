import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { readCpuSeconds, readMainThreadSeconds, readMemory } from './process-figures.ts'

/** A server in a separate process. */
export interface ServerProcess {
  readonly pid: number
  /** The line on stdout that reported that the server is ready. */
  readonly line: string
  readonly startMs: number
  /** The first output on stderr. The log that follows is discarded. */
  stderr(): string
  /** Resolves when stderr contains the text. */
  saw(text: string): Promise<void>
  /** Writes a line to stdin and resolves with the next line on stdout. */
  ask(line: string): Promise<string>
  /** CPU time of the process and its children so far, in seconds. */
  cpuSeconds(): number
  /** The same of the main threads only. */
  mainThreadSeconds(): number
  /** Resident memory in megabytes: current and maximum. */
  memory(): { now: number; peak: number }
  stop(): Promise<void>
}

const KEPT_STDERR = 20_000

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/**
 * Starts a program, one of Node by default, and resolves when it prints the line that reports readiness
 * (default: any line).
 */
export async function startProcess(
  args: readonly string[],
  environment: Record<string, string> = {},
  isReady: (line: string) => boolean = () => true,
  program = process.execPath,
): Promise<ServerProcess> {
  const begun = performance.now()
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  children.add(child)
  const exited = once(child, 'exit')
  void exited.then(() => children.delete(child))
  let stderr = ''
  child.stderr.on('data', (bytes: Buffer) => {
    if (stderr.length < KEPT_STDERR) stderr += bytes.toString()
  })
  const lines = createInterface(child.stdout)
  const line = await Promise.race([
    findLine(lines, isReady),
    exited.then(() => Promise.reject(new Error(`${args.join(' ')} did not start:\n${stderr}`))),
  ])
  const pid = child.pid ?? 0
  return {
    pid,
    line,
    startMs: performance.now() - begun,
    stderr: () => stderr,
    async saw(text) {
      while (!stderr.includes(text)) await once(child.stderr, 'data')
    },
    ask(line) {
      const answer = findLine(lines)
      child.stdin.write(`${line}\n`)
      return answer
    },
    cpuSeconds: () => readCpuSeconds(pid),
    mainThreadSeconds: () => readMainThreadSeconds(pid),
    memory: () => readMemory(pid),
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Returns Node's arguments to run a benchmark file from source. */
export function benchFile(name: string): readonly string[] {
  return ['--import', 'tsx', fileURLToPath(new URL(name, import.meta.url))]
}

/** The interface continues to read after the line, since a full pipe would block the server. */
function findLine(lines: Interface, isWanted: (line: string) => boolean = () => true): Promise<string> {
  return new Promise((resolve) => {
    const check = (line: string) => {
      if (!isWanted(line)) return
      lines.off('line', check)
      resolve(line)
    }
    lines.on('line', check)
  })
}
