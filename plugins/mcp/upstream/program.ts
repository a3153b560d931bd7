import { type ChildProcess, spawn } from 'node:child_process'
import type { Logger } from 'pino'
import { errorName } from '../../../core/util/error-message.ts'
import { mcpError } from '../errors.ts'
import type { ProgramTransport } from '../servers/state.ts'
import type { ReadSecret } from './credentials.ts'

/** What programs get of the gateway's own environment. */
const PASSED_ON = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR']

interface ProgramEvents {
  /** A line of the standard output, without its end. */
  onLine(line: Buffer): void
  /** A line exceeds the limit. `ends`: its beginning and its end. */
  onLongLine(ends: Buffer): void
  /** The program has ended. */
  onExit(): void
}

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 60_000

/** A program that has run for so long is started again without delay. */
const STABLE_MS = 60_000

const MAX_STDERR_LINES = 20
const STDERR_WINDOW_MS = 60_000
const MAX_STDERR_CHARS = 500

const LINE_FEED = 0x0a

/** What is kept of both ends of a line that is too long. */
const KEPT_BYTES = 4096

/** A program that writes a longer line is ended. */
const MAX_SKIPPED_BYTES = 1024 * 1024 * 1024

const TERM_MS = 2000
const KILL_MS = 4000

/** What is written to a program that does not read is limited. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024

/**
 * Supervises a program that serves MCP on its standard input and output: starts it when it is needed, and not
 * too often if it ends.
 */
export class Program {
  readonly #name: string
  readonly #settings: ProgramTransport['program']
  readonly #maxLineBytes: number
  readonly #logger: Logger
  readonly #readSecret: ReadSecret
  readonly #events: ProgramEvents
  #process: ChildProcess | undefined
  #startedAt = 0
  #mayStartAt = 0
  #delayMs = FIRST_DELAY_MS
  #isClosed = false

  constructor(
    name: string,
    settings: ProgramTransport['program'],
    maxLineBytes: number,
    logger: Logger,
    readSecret: ReadSecret,
    events: ProgramEvents,
  ) {
    this.#readSecret = readSecret
    this.#name = name
    this.#settings = settings
    this.#maxLineBytes = maxLineBytes
    this.#logger = logger
    this.#events = events
  }

  get isRunning(): boolean {
    return this.#process !== undefined
  }

  /** Starts the program if it does not run. Rejects with `tool_server_unavailable` if it must wait. */
  async start(): Promise<void> {
    if (this.#process !== undefined) return
    this.#checkMayStart()
    const env = await this.#readEnvironment()
    this.#checkMayStart()
    if (this.#process === undefined) this.#spawn(env)
  }

  #checkMayStart(): void {
    const waitMs = this.#mayStartAt - Date.now()
    if (this.#isClosed || waitMs > 0) {
      const message = `The program of the tool server ${this.#name} has ended. Try again later.`
      throw mcpError('tool_server_unavailable', message, {
        retryAfter: Math.max(1, Math.ceil(waitMs / 1000)),
      })
    }
  }

  async #readEnvironment(): Promise<NodeJS.ProcessEnv> {
    const passed = PASSED_ON.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
    const own = Object.entries(this.#settings.env ?? {}).map(async ([name, value]) => {
      if (!/^(env|file):/.test(value)) return [name, value]
      const secret = await this.#readSecret(value)
      if (secret !== undefined) return [name, secret]
      const message = `The variable ${name} of the tool server ${this.#name} is missing. Set it.`
      throw mcpError('tool_server_unavailable', message)
    })
    return Object.fromEntries([...passed, ...(await Promise.all(own))])
  }

  #spawn(env: NodeJS.ProcessEnv): void {
    const { command, cwd } = this.#settings
    const [file, ...args] = command
    this.#startedAt = Date.now()
    const child = spawn(file, args, {
      ...(cwd !== undefined && { cwd }),
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      // A group of its own, so that programs that it starts end with it.
      detached: true,
    })
    this.#process = child
    child.once('error', (error) => this.#end(child, errorName(error)))
    child.once('exit', (code, signal) => this.#end(child, signal ?? `exit code ${code}`))
    child.stdin.on('error', () => undefined)
    child.stdout.on('data', this.#readLines())
    child.stderr.on('data', this.#logStderr())
    process.once('exit', this.#killNow)
  }

  /** Writes a line to the running program. Throws `tool_server_unavailable` if the program does not read. */
  write(json: string): void {
    const input = this.#process?.stdin
    if (!input?.writable || input.writableLength > MAX_QUEUED_BYTES)
      throw mcpError('tool_server_unavailable', `The program of ${this.#name} does not read its input.`)
    input.write(`${json}\n`)
  }

  /** Ends the program, and what it has started. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.stop()
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.stdin?.end()
    const timers = [
      setTimeout(() => killGroup(child, 'SIGTERM'), TERM_MS),
      setTimeout(() => killGroup(child, 'SIGKILL'), KILL_MS),
    ]
    await ended
    for (const timer of timers) clearTimeout(timer)
    killGroup(child, 'SIGKILL')
  }

  readonly #killNow = () => {
    if (this.#process !== undefined) killGroup(this.#process, 'SIGKILL')
  }

  #end(child: ChildProcess, reason: string): void {
    if (this.#process !== child) return
    this.#process = undefined
    process.off('exit', this.#killNow)
    if (Date.now() - this.#startedAt > STABLE_MS) this.#delayMs = FIRST_DELAY_MS
    this.#mayStartAt = Date.now() + this.#delayMs
    this.#delayMs = Math.min(2 * this.#delayMs, MAX_DELAY_MS)
    if (!this.#isClosed) this.#logger.warn({ server: this.#name, reason }, 'program of a tool server ended')
    this.#events.onExit()
  }

  #readLines(): (chunk: Buffer) => void {
    let parts: Buffer[] = []
    let size = 0
    const isTooLong = () => size > this.#maxLineBytes
    return (chunk) => {
      let start = 0
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
        const rest = chunk.subarray(start, end)
        size += rest.length
        const line = Buffer.concat([...parts, rest])
        if (isTooLong())
          this.#events.onLongLine(Buffer.concat([line.subarray(0, KEPT_BYTES), line.subarray(-KEPT_BYTES)]))
        else if (line.length > 0) this.#events.onLine(line)
        parts = []
        size = 0
        start = end + 1
      }
      if (start === chunk.length) return
      const rest = chunk.subarray(start)
      parts.push(rest)
      size += rest.length
      if (!isTooLong()) return
      const all = Buffer.concat(parts)
      parts = [Buffer.from(all.subarray(0, KEPT_BYTES)), Buffer.from(all.subarray(-KEPT_BYTES))]
      if (size > MAX_SKIPPED_BYTES) void this.stop()
    }
  }

  /** What a program writes there is for operators: it is logged, some lines a minute. */
  #logStderr(): (chunk: Buffer) => void {
    let windowStart = Number.NEGATIVE_INFINITY
    let lines = 0
    let dropped = 0
    return (chunk) => {
      const now = performance.now()
      if (now - windowStart > STDERR_WINDOW_MS) {
        if (dropped > 0)
          this.#logger.warn({ server: this.#name, dropped }, 'lines of a tool server were not logged')
        windowStart = now
        lines = 0
        dropped = 0
      }
      const room = MAX_STDERR_LINES - lines
      if (room <= 0) {
        dropped++
        return
      }
      const text = chunk.toString('utf8', 0, (room + 1) * MAX_STDERR_CHARS)
      for (const line of text.split('\n').slice(0, room)) {
        if (line.trim() === '') continue
        lines++
        this.#logger.info({ server: this.#name, line: line.slice(0, MAX_STDERR_CHARS) }, 'tool server wrote')
      }
    }
  }
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // It has ended.
  }
}
