import { type DestinationStream, type Logger, destination as openDestination, pino } from 'pino'

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
    createLogDestination(2, {
      isShared,
      onDropped: (count) => logger.warn({ count }, 'log lines dropped; the reader is too slow'),
    })
  const logger = pino(
    {
      level,
      base: worker === undefined ? {} : { worker },
      timestamp: createTimestamp(),
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

interface LogDestinationOptions {
  /** Other processes write to the same file. */
  readonly isShared: boolean
  /** Lines are dropped while more than this many bytes wait for a slow reader. */
  readonly maxBufferedBytes?: number
  /** Called with the number of dropped lines when the reader has caught up. */
  readonly onDropped?: (lines: number) => void
}

/**
 * Maximum size of a write. POSIX guarantees that writes of up to `PIPE_BUF` bytes to a pipe (4096 on Linux)
 * do not mix with those of other processes.
 */
const MAX_WRITE_BYTES = { exclusive: 65_536, shared: 4096 }

/** Lines of about 150,000 requests. */
const MAX_BUFFERED_BYTES = 32 * 1024 * 1024

/** How long a line waits for others: a write wakes a thread and the reader of the log. */
const FLUSH_DELAY_MS = 20

/**
 * Creates a destination for log lines. Lines are collected for some milliseconds and written together,
 * because a write per line costs more than the rest of logging. Buffered lines are written when the process
 * exits.
 *
 * sonic-boom writes, buffers, drops and retries. Only the collecting is our own: with sonic-boom's
 * `minLength` a short delay needs `periodicFlush`, which writes to the file at every interval, even if
 * nothing was logged (about 2 % of a core at 10 ms), and each line costs about twice as much.
 */
export function createLogDestination(
  fd: number,
  { isShared, maxBufferedBytes = MAX_BUFFERED_BYTES, onDropped }: LogDestinationOptions,
): ReturnType<typeof openDestination> {
  const maxWrite = isShared ? MAX_WRITE_BYTES.shared : MAX_WRITE_BYTES.exclusive
  // sonic-boom compares its limit with the buffered bytes and the new ones together.
  const file = openDestination({ dest: fd, sync: false, maxWrite, maxLength: maxBufferedBytes + maxWrite })
  const write = file.write.bind(file)
  const flush = file.flush.bind(file)
  const flushSync = file.flushSync.bind(file)
  let collected = ''
  let collectedBytes = 0
  let timer: NodeJS.Timeout | undefined
  let droppedLines = 0

  file.on('drop', (lines: string) => {
    droppedLines += lines.split('\n').length - 1
  })
  file.on('drain', () => {
    const count = droppedLines
    droppedLines = 0
    if (count > 0) onDropped?.(count)
  })

  function writeCollected(): void {
    clearTimeout(timer)
    timer = undefined
    const lines = collected
    collected = ''
    collectedBytes = 0
    if (lines !== '') write(lines)
  }

  return Object.assign(file, {
    write(line: string) {
      const bytes = Buffer.byteLength(line)
      if (collectedBytes + bytes > maxWrite) writeCollected()
      collected += line
      collectedBytes += bytes
      timer ??= setTimeout(writeCollected, FLUSH_DELAY_MS).unref()
      return true
    },
    flush(callback?: (error?: Error) => void) {
      writeCollected()
      flush(callback)
    },
    flushSync() {
      writeCollected()
      flushSync()
    },
  })
}
