import { type DestinationStream, destination, type Logger, pino } from 'pino'

/** What a pipe takes as a whole, so that lines of several processes do not run into each other (POSIX: at least 512 bytes; Linux: 4096). */
const MOST_BYTES = 4096

const LONGEST_WAIT_MS = 20

/**
 * JSON lines on stderr, each with the fields of `base`; stdout is for the ready line. What could hold a key or a prompt is cut out
 * whatever it hangs on.
 */
export function createLogger(level: string, base: Readonly<Record<string, number>> = {}): Logger {
  return pino(
    {
      level,
      base,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      redact: {
        paths: ['authorization', 'apiKey', 'key', 'body', 'messages', 'prompt', 'input'].flatMap((name) => [
          name,
          `*.${name}`,
          `*.*.${name}`,
        ]),
        censor: '[redacted]',
      },
    },
    openStderr(),
  )
}

/** Writes lines together, as far as a line waits for it no longer than nobody notices: a write of its own costs more than all else about it. */
function openStderr(): DestinationStream & { flushSync(): void } {
  const stderr = destination({ dest: 2, sync: false, minLength: MOST_BYTES / 2, maxWrite: MOST_BYTES })
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    timer = undefined
    stderr.flush()
  }
  const write = stderr.write.bind(stderr)
  return Object.assign(stderr, {
    write(line: string) {
      if (timer === undefined) timer = setTimeout(flush, LONGEST_WAIT_MS).unref()
      return write(line)
    },
  })
}
