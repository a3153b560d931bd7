import type { ClientConnection } from '../../core/contract/exchange.ts'

/** A client that leaves when the signal aborts. */
export function presenceOf(signal: AbortSignal): ClientConnection {
  return {
    signal,
    get isAborted() {
      return signal.aborted
    },
    onAbort(notify) {
      const onAbort = () => notify(signal.reason)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
      return () => signal.removeEventListener('abort', onAbort)
    },
    onClose(notify) {
      this.onAbort(notify)
    },
  }
}

/** A client that stays. */
export const staying: ClientConnection = presenceOf(new AbortController().signal)
