import { destination } from 'pino'

export interface LogLinesOptions {
  /** Other processes write to the same file: their lines are not to run into ours. */
  readonly isShared: boolean
  /** Characters that wait for a reader who is too slow; what is more is dropped. */
  readonly mostBehind?: number
  /** Told how many lines were dropped, when there is room again. */
  readonly onDropped?: (lines: number) => void
}

/** Characters written at once, and all that a pipe takes as a whole (POSIX: at least 512 bytes; Linux: 4096). */
const MOST_AT_ONCE = { alone: 65_536, shared: 4096 }

/** How long a line may wait for others, and how many of that time are written at once before lines have to wait. */
const SPAN_MS = 20
const MOST_BY_THEMSELVES = 8

/** Room that is left for the next line: with it, what waits is most often within what may be written at once. */
const ROOM_FOR_A_LINE = 600

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
  const file = destination({ dest: fd, sync: false, maxWrite: most, maxLength: mostBehind })
  const write = file.write.bind(file)
  const flushSync = file.flushSync.bind(file)
  let linesOfSpan = 0
  let waiting = ''
  let dropped = 0
  file.on('drop', (lines: string) => {
    dropped += lines.split('\n').length - 1
  })
  file.on('drain', () => {
    const count = dropped
    dropped = 0
    if (count > 0) onDropped?.(count)
  })

  function writeWaiting(): void {
    if (waiting === '') return
    write(waiting)
    waiting = ''
  }

  function endSpan(): void {
    linesOfSpan = 0
    writeWaiting()
  }

  return Object.assign(file, {
    write(line: string) {
      linesOfSpan++
      if (linesOfSpan === 1) setTimeout(endSpan, SPAN_MS).unref()
      if (linesOfSpan <= MOST_BY_THEMSELVES) return write(line)
      waiting += line
      if (waiting.length > most - ROOM_FOR_A_LINE) writeWaiting()
      return true
    },
    flushSync() {
      writeWaiting()
      flushSync()
    },
  })
}
