import { open } from 'node:fs/promises'
import { findInspectors } from '../support/heap.ts'

/** A log line that needs an explanation: an error, or a line that the gateway did not format. */
interface OddLine {
  readonly requestId: string | undefined
  text: string
  /** True if it is not one of the gateway's JSON lines. */
  readonly isPlain: boolean
}

/** Follows the gateway's log. */
export interface LogWatch {
  /** Reads what was written since the last call. */
  read(): Promise<void>
  /** Inspector addresses of all processes started so far. */
  inspectors(): readonly string[]
  readonly odd: readonly OddLine[]
  /** Number of lines by level, and by message for warnings and errors. */
  readonly counts: ReadonlyMap<string, number>
}

/** Expected lines that are not JSON: those of the banner and of Node's inspector. */
const BANNER = [
  /^$/,
  /^(Signalbox serves at|console:|version:|data folder:|plugins:|workers:|The event log was empty,) /,
  /^ {2}(export|curl|npx| {2}-[Hd]) /,
]
const NO_USER = /^There is no user yet\. /

/** What a busy machine causes: an error, and the line which says that it has passed. */
const AWAY = 'request ledger unavailable; records wait in memory'
const BACK = 'request ledger available again'

const INSPECTOR = /^(Debugger |For help, see: |Starting inspector|Waiting for the debugger)/

export function watchLog(file: string): LogWatch {
  const inspectors = new Set<string>()
  const odd: OddLine[] = []
  const counts = new Map<string, number>()
  let offset = 0
  let rest = ''

  function count(what: string): void {
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }

  const noteInspector = (url: string) => inspectors.add(url)

  /** The record of the request ledger was late, and has arrived. */
  function takeBack(): void {
    const index = odd.findLastIndex(({ text }) => text.includes(AWAY))
    if (index >= 0) odd.splice(index, 1)
  }

  function take(line: string): void {
    if (line.includes(BACK)) takeBack()
    if (line.startsWith('{"level":30')) count('info')
    else if (INSPECTOR.test(line)) findInspectors(line).forEach(noteInspector)
    else if (!BANNER.some((pattern) => pattern.test(line)) && !NO_USER.test(line)) takeOther(line)
  }

  function takeOther(line: string): void {
    const entry = readEntry(line)
    const last = odd.at(-1)
    // A stack trace belongs to the line before.
    if (entry === undefined && last?.isPlain && /^\s{4}/.test(line)) last.text += `\n${line}`
    else if (entry === undefined) odd.push({ requestId: undefined, text: line, isPlain: true })
    else {
      const { level, msg, requestId } = entry
      count(level >= 50 ? `error: ${msg}` : level >= 40 ? `warning: ${msg}` : 'info')
      if (level >= 50) odd.push({ requestId, text: line, isPlain: false })
    }
  }

  return {
    async read() {
      const handle = await open(file)
      try {
        for await (const text of handle.createReadStream({
          start: offset,
          encoding: 'utf8',
          autoClose: false,
        })) {
          offset += Buffer.byteLength(text)
          const lines = (rest + text).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines) take(line)
        }
      } finally {
        await handle.close()
      }
    },
    inspectors: () => [...inspectors],
    odd,
    counts,
  }
}

interface Entry {
  readonly level: number
  readonly msg?: string
  readonly requestId?: string
}

function readEntry(line: string): Entry | undefined {
  try {
    const entry = JSON.parse(line)
    return typeof entry.level === 'number' ? entry : undefined
  } catch {
    return undefined
  }
}
