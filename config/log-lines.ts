import { destination } from 'pino'

/** What a pipe takes as a whole, so that lines of several processes do not run into each other (POSIX: at least 512 bytes; Linux: 4096). */
const MOST_BYTES = 4096

/** How long a line may wait for others, and how many of that time are written at once before lines have to wait. */
const SPAN_MS = 20
const MOST_AT_ONCE = 8

/** What pino's types leave out: how many bytes are gathered before they are written. */
type Gathering = ReturnType<typeof destination> & { minLength: number }

/**
 * Where log lines go: written at once while there are few, together while there are many, for a write of its own costs more than all else
 * about a line. What still waits is written at the end of the process.
 */
export function openLogLines(fd: number): ReturnType<typeof destination> {
  const file = destination({ dest: fd, sync: false, maxWrite: MOST_BYTES }) as Gathering
  const writeLine = file.write.bind(file)
  let linesOfSpan = 0

  function endSpan(): void {
    file.flush()
    file.minLength = 0
    linesOfSpan = 0
  }

  return Object.assign(file, {
    write(line: string) {
      linesOfSpan++
      if (linesOfSpan === 1) setTimeout(endSpan, SPAN_MS).unref()
      if (linesOfSpan === MOST_AT_ONCE) file.minLength = MOST_BYTES / 2
      return writeLine(line)
    },
  })
}
