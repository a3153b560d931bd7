import { GatewayError } from '../core/contract/errors.ts'
import type { Presence } from '../core/contract/presence.ts'

/** One call's patience: as long as the client is there, and within the vendor's time limits. */
export interface Watch {
  /** Why the call was broken off: the client's reason, or a `provider_timeout`. */
  readonly brokenOff: { readonly reason: unknown } | undefined
  /** From now on the vendor has `ms` to send something. */
  expect(ms: number): void
  /** We are not waiting for the vendor: until the next `expect` no limit counts. */
  rest(): void
  /** The call is over, and its connection may serve another. */
  end(): void
}

/**
 * Starts the wait for a vendor's first sign, and calls `breakOff` when it was in vain. One timer serves the whole call; to expect more
 * only moves it.
 */
export function startWatch(
  provider: string,
  client: Presence,
  firstMs: number,
  breakOff: (reason: unknown) => void,
): Watch {
  let brokenOff: { readonly reason: unknown } | undefined
  let waiting = true
  let limit = firstMs
  let timer = setTimeout(onTimeout, firstMs)
  let stopListening: (() => void) | undefined

  function cancel(reason: unknown): void {
    end()
    brokenOff = { reason }
    breakOff(reason)
  }

  function onTimeout(): void {
    if (waiting) cancel(new GatewayError('provider_timeout', `${provider} did not answer in time.`))
  }

  function expect(ms: number): void {
    waiting = true
    if (ms === limit) {
      timer.refresh()
    } else {
      clearTimeout(timer)
      limit = ms
      timer = setTimeout(onTimeout, ms)
    }
  }

  function end(): void {
    waiting = false
    clearTimeout(timer)
    stopListening?.()
  }

  stopListening = client.whenLeft(cancel)
  return {
    get brokenOff() {
      return brokenOff
    },
    expect,
    rest: () => {
      waiting = false
    },
    end,
  }
}
