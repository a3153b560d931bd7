import { destination, type Logger, pino } from 'pino'

/** What a pipe takes as a whole, so that lines of several processes do not run into each other (POSIX: at least 512 bytes; Linux: 4096). */
const MOST_BYTES = 4096

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
    destination({ dest: 2, sync: false, maxWrite: MOST_BYTES }),
  )
}
