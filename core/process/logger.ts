import { type Logger, pino } from 'pino'
import { openLogLines } from './log-writer.ts'

interface LogPlace {
  /** Other processes write to the same stderr. */
  readonly isShared: boolean
  /** The number of this one, in each of its lines. */
  readonly worker?: number
}

/** JSON lines on stderr; stdout is for the ready line. What could hold a key or a prompt is cut out whatever it hangs on. */
export function createLogger(level: string, { isShared, worker }: LogPlace = { isShared: false }): Logger {
  const lines = openLogLines(2, {
    isShared,
    onDropped: (count) =>
      logger.warn({ count }, 'lines of the log were dropped: whoever reads it is too slow'),
  })
  const logger = pino(
    {
      level,
      base: worker === undefined ? {} : { worker },
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
    lines,
  )
  return logger
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
