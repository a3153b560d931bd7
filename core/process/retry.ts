import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { EventLogUnavailableError } from '../contract/index.ts'
import { untilAborted } from './timeout.ts'

const RETRY_MS = { first: 250, most: 5000 }

/** Opens something on the event log, and tries again while the log is away. Rejects when the signal aborts. */
export async function retryWhileUnavailable<Opened>(
  open: () => Promise<Opened>,
  logger: Logger,
  signal: AbortSignal,
): Promise<Opened> {
  for (let delay = RETRY_MS.first; ; delay = Math.min(delay * 2, RETRY_MS.most)) {
    try {
      return await untilAborted(open(), signal)
    } catch (error) {
      if (!(EventLogUnavailableError.isInstance(error) && error.transient)) throw error
      logger.warn({ err: error }, 'the event log is away; starting when it is back')
      await sleep(delay, undefined, { signal })
    }
  }
}
