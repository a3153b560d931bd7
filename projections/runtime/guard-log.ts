import type { EventLog } from '../../core/contract/index.ts'
import type { Subscription } from './subscribe.ts'
import { checkAvailable } from './write.ts'

/**
 * Returns the log for everything but the subscription. While the log is away or was replaced, it refuses all
 * calls immediately: nobody waits for a log that is known not to respond, and nothing is read from or written
 * to another log before the subscription has checked that it is the same one.
 */
export function guardLog(log: EventLog, subscription: Pick<Subscription, 'state'>): EventLog {
  return {
    async append(stream, events, options) {
      checkAvailable(subscription)
      return log.append(stream, events, options)
    },
    async *read(stream, from) {
      checkAvailable(subscription)
      yield* log.read(stream, from)
    },
    async *subscribe(from, signal, streams) {
      checkAvailable(subscription)
      yield* log.subscribe(from, signal, streams)
    },
    poll: () => log.poll?.(),
    async deleteStream(stream) {
      checkAvailable(subscription)
      await log.deleteStream(stream)
    },
    close: () => log.close(),
  }
}
