import { destination } from 'pino'

interface LogLinesOptions {
  /** Other processes write to the same file: their lines are not to run into ours. */
  readonly isShared: boolean
  /** Bytes that wait for a reader who is too slow; what is more is dropped. */
  readonly mostBehind?: number
  /** Told how many lines were dropped, when there is room again. */
  readonly onDropped?: (lines: number) => void
}

/** Bytes written at once, and all that a pipe takes as a whole (POSIX: at least 512; Linux: 4096). */
const MOST_AT_ONCE = { alone: 65_536, shared: 4096 }

/** How long a line may wait for others, and how many of that time are written at once before lines have to wait. */
const SPAN_MS = 20
const MOST_BY_THEMSELVES = 8

/** Bytes of a unit of a string in UTF-8, at most. */
const MOST_OF_A_UNIT = 3

/** Some 150,000 requests. */
const MOST_BEHIND = 32 * 1024 * 1024

/**
 * Where log lines go: written at once while there are few, together while there are many, for a write of its own costs more than all else
 * about a line. What still waits is written at the end of the process.
 */
export function openLogLines(
  fd: number,
  { isShared, mostBehind = MOST_BEHIND, onDropped }: LogLinesOptions,
): ReturnType<typeof destination> {
  const most = isShared ? MOST_AT_ONCE.shared : MOST_AT_ONCE.alone
  const file = destination({
    dest: fd,
    sync: false,
    contentMode: 'buffer',
    maxWrite: most,
  })
  // Its types know only texts.
  const write = file.write.bind(file) as unknown as (bytes: Buffer) => void
  const flushSync = file.flushSync.bind(file)
  let linesOfSpan = 0
  // Lines become bytes one by one, while they are still at hand: a long text put together of many is dear to write.
  let block = Buffer.allocUnsafeSlow(most)
  let written = 0
  let end = 0
  /** Handed over and not taken by the reader. */
  let behind = 0
  let dropped = 0
  file.on('write', (bytes: number) => {
    behind -= bytes
  })
  file.on('drain', () => {
    const count = dropped
    dropped = 0
    if (count > 0) onDropped?.(count)
  })

  function handOver(bytes: Buffer): void {
    behind += bytes.length
    write(bytes)
  }

  function writeWaiting(): void {
    if (written === end) return
    handOver(block.subarray(written, end))
    written = end
  }

  function keep(line: string): void {
    if (behind + end - written + line.length > mostBehind) {
      dropped++
      return
    }
    const room = line.length * MOST_OF_A_UNIT
    if (end + room > most) {
      writeWaiting()
      block = Buffer.allocUnsafeSlow(most)
      written = 0
      end = 0
    }
    if (room > most) handOver(Buffer.from(line))
    else end += block.write(line, end)
  }

  function endSpan(): void {
    linesOfSpan = 0
    writeWaiting()
  }

  return Object.assign(file, {
    write(line: string) {
      linesOfSpan++
      if (linesOfSpan === 1) setTimeout(endSpan, SPAN_MS).unref()
      keep(line)
      if (linesOfSpan <= MOST_BY_THEMSELVES) writeWaiting()
      return true
    },
    flushSync() {
      writeWaiting()
      flushSync()
      behind = 0
    },
  })
}
