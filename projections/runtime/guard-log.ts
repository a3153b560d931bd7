import type { EventLog } from '../../core/contract/index.ts'
import { toPlainEvent } from '../../core/event-log/stored-event.ts'
import type { Subscription } from './subscribe.ts'

/**
 * Returns the log for everything but the subscription. Refuses changes of a damaged log; see
 * docs/decisions/event-log.md, "A damaged event log is not written to". While the log is away or was
 * replaced, refuses all calls immediately: nobody waits for a log that is known not to respond, and nothing
 * is read from or written to another log before the subscription has checked that it is the same one. Its
 * subscribers get plain events.
 */
export function guardLog(
  log: EventLog,
  subscription: Pick<Subscription, 'checkAvailable' | 'checkUndamaged' | 'noteOutcome'>,
): EventLog {
  async function call<Result>(run: () => Promise<Result>): Promise<Result> {
    subscription.checkAvailable()
    try {
      const result = await run()
      subscription.noteOutcome()
      return result
    } catch (error) {
      subscription.noteOutcome(error)
      throw error
    }
  }

  return {
    append: (stream, events, options) =>
      call(async () => {
        subscription.checkUndamaged()
        return log.append(stream, events, options)
      }),
    async *read(stream, from) {
      subscription.checkAvailable()
      yield* log.read(stream, from)
    },
    async *subscribe(...args) {
      subscription.checkAvailable()
      for await (const item of log.subscribe(...args)) yield item === 'caught-up' ? item : toPlainEvent(item)
    },
    poll: () => log.poll?.(),
    close: () => log.close(),
  }
}
