import { destination } from 'pino'

/** What a pipe takes as a whole, so that lines of several processes do not run into each other (POSIX: at least 512 bytes; Linux: 4096). */
const MOST_BYTES = 4096

/** How long a line may wait for others, and how many of that time are written at once before lines have to wait. */
const SPAN_MS = 20
const MOST_AT_ONCE = 8

/** Characters that wait at most, before the next line: with it, those of most lines are within what a pipe takes. */
const MOST_WAITING = MOST_BYTES - 600

/**
 * Where log lines go: written at once while there are few, together while there are many, for a write of its own costs more than all else
 * about a line. What still waits is written at the end of the process.
 */
export function openLogLines(fd: number): ReturnType<typeof destination> {
  const file = destination({ dest: fd, sync: false, maxWrite: MOST_BYTES })
  const write = file.write.bind(file)
  const flushSync = file.flushSync.bind(file)
  let linesOfSpan = 0
  let waiting = ''

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
      if (linesOfSpan <= MOST_AT_ONCE) return write(line)
      waiting += line
      if (waiting.length > MOST_WAITING) writeWaiting()
      return true
    },
    flushSync() {
      writeWaiting()
      flushSync()
    },
  })
}
