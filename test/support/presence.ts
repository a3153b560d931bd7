import type { Presence } from '../../core/contract/presence.ts'

/** A client that leaves when the signal aborts. */
export function presenceOf(signal: AbortSignal): Presence {
  return {
    signal,
    get left() {
      return signal.aborted
    },
    whenLeft(notify) {
      const onAbort = () => notify(signal.reason)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
      return () => signal.removeEventListener('abort', onAbort)
    },
    whenEnded(notify) {
      this.whenLeft(notify)
    },
  }
}

/** A client that stays. */
export const staying: Presence = presenceOf(new AbortController().signal)
