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
    openLogLines(2),
  )
}
