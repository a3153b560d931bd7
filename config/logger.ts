import { destination, type Logger, pino } from 'pino'

/** JSON lines on stderr; stdout is for the ready line. What could hold a key or a prompt is cut out whatever it hangs on. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: null,
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
    destination({ dest: 2, sync: false }),
  )
}
