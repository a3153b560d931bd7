import { type Logger, pino } from 'pino'
import { openLogLines } from './log-lines.ts'

/**
 * JSON lines on stderr, each with the fields of `base`; stdout is for the ready line. What could hold a key or a prompt is cut out
 * whatever it hangs on.
 */
export function createLogger(level: string, base: Readonly<Record<string, number>> = {}): Logger {
  return pino(
    {
      level,
      base,
      timestamp: createClock(),
      redact: {
        paths: ['authorization', 'apiKey', 'key', 'body', 'messages', 'prompt', 'input'].flatMap((name) => [
          name,
          `*.${name}`,
          `*.*.${name}`,
        ]),
        censor: '[redacted]',
      },
    },
    openLogLines(2),
  )
}

/** Writes the time of a line; what stays the same for a second is written once in a second. */
function createClock(): () => string {
  let second = 0
  let start = ''
  return () => {
    const now = Date.now()
    if (Math.floor(now / 1000) !== second) {
      second = Math.floor(now / 1000)
      start = `,"time":"${new Date(now).toISOString().slice(0, -'000Z'.length)}`
    }
    return `${start}${String(now % 1000).padStart(3, '0')}Z"`
  }
}
