import type { Readable } from 'node:stream'
import { Late } from './eventstore-failure.ts'

/** What the client gives for a read or a subscription. */
export type Source<Item> = Readable & AsyncIterable<Item>

/**
 * The items of a read or a subscription, taken one at a time; the next is asked for when the last has been dealt with.
 * Ends when the source does or the signal aborts; throws what the source fails with, and `Late` when an item takes longer
 * to come than `patience`, in milliseconds. `hangUp` ends the call, which the client does not do by itself.
 */
export async function* pull<Item>(
  source: Source<Item>,
  hangUp: () => Promise<void>,
  signal: AbortSignal,
  patience?: number,
): AsyncGenerator<Item> {
  let waiting = true
  const stop = () => source.destroy()
  const timer = patience && setTimeout(() => waiting && source.destroy(new Late()), patience)
  // A failure that comes when nobody reads any more must not end the process.
  source.on('error', ignore)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    for await (const item of source) {
      waiting = false
      yield item
      waiting = true
      if (timer) timer.refresh()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (timer) clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    hangUp().catch(ignore)
  }
}

function ignore(): void {}
