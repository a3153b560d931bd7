import type { RunningGateway } from './gateway.ts'

export type LogLine = Readonly<Record<string, unknown>>

interface ParsedLog {
  readonly lines: LogLine[]
  /** How much of `stderr()` has been parsed, in characters. */
  end: number
}

const parsedLogs = new WeakMap<RunningGateway, ParsedLog>()

/** The log lines so far, without the banner. Throws if a line is not JSON. */
export function readLog(gateway: RunningGateway): readonly LogLine[] {
  const parsed = parsedLogs.get(gateway) ?? { lines: [], end: 0 }
  parsedLogs.set(gateway, parsed)
  const text = gateway.stderr()
  const end = text.lastIndexOf('\n') + 1
  for (const line of text.slice(parsed.end, end).split('\n'))
    if (line.includes('"level"')) parsed.lines.push(JSON.parse(line))
  parsed.end = Math.max(parsed.end, end)
  return parsed.lines
}

/** Resolves with the lines that have this message once there are `times` of them. */
export async function logged(gateway: RunningGateway, msg: string, times = 1): Promise<readonly LogLine[]> {
  return waitForLines(gateway, (line) => line.msg === msg, times)
}

/** Resolves with the lines that satisfy the condition once there are `times` of them. */
export async function waitForLines(
  gateway: RunningGateway,
  isWanted: (line: LogLine) => boolean,
  times = 1,
): Promise<readonly LogLine[]> {
  for (;;) {
    const lines = readLog(gateway).filter(isWanted)
    if (lines.length >= times) return lines
    if (gateway.hasEnded()) throw new Error(`the gateway ended without the log line:\n${gateway.stderr()}`)
    await gateway.stderrChanged()
  }
}
