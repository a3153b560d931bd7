import { type DestinationStream, type Logger, pino } from 'pino'
import { LogDestination } from './log-destination.ts'

interface LoggerOptions {
  /** Other processes write to the same stderr. */
  readonly isShared?: boolean
  /** Worker number, added to each line. */
  readonly worker?: number
  /** Receives the lines in place of stderr. */
  readonly destination?: DestinationStream
}

/**
 * Creates a logger that writes JSON lines to stderr; stdout is for the ready line. Redacts fields that may
 * contain keys or prompts, at any depth up to two.
 */
export function createLogger(
  level: string,
  { isShared = false, worker, destination }: LoggerOptions = {},
): Logger {
  const openStderr = () =>
    new LogDestination(2, {
      isShared,
      onDropped: (count, reason) => logger.warn({ count, reason }, 'log lines dropped'),
    })
  const logger = pino(
    {
      level,
      base: worker === undefined ? {} : { worker },
      timestamp: createTimestamp(),
      serializers: { err: serializeError },
      redact: {
        paths: ['authorization', 'apiKey', 'key', 'body', 'messages', 'prompt', 'input'].flatMap((name) => [
          name,
          `*.${name}`,
          `*.*.${name}`,
        ]),
        censor: '[redacted]',
      },
    },
    destination ?? openStderr(),
  )
  return logger
}

/** Plugins throw frozen errors, and such whose getters throw. */
function serializeError(error: Error): unknown {
  try {
    return pino.stdSerializers.err(error)
  } catch {
    return { type: 'Error', message: 'an error that cannot be read', stack: readStack(error) }
  }
}

function readStack(error: Error): string {
  try {
    return `${error.stack}`
  } catch {
    return ''
  }
}

/**
 * Returns a function that formats the current time for a line. The part up to the second is formatted once
 * per second.
 */
function createTimestamp(): () => string {
  let second = 0
  let prefix = ''
  return () => {
    const now = Date.now()
    if (Math.floor(now / 1000) !== second) {
      second = Math.floor(now / 1000)
      prefix = `,"time":"${new Date(now).toISOString().slice(0, -'000Z'.length)}`
    }
    return `${prefix}${String(now % 1000).padStart(3, '0')}Z"`
  }
}
