import { GatewayError } from '../core/contract/errors.ts'

/** One call's patience: the client's signal and the vendor's time limits as one signal for the upstream request. */
export interface Watch {
  /** Aborts with the client's reason, or with a `provider_timeout`. */
  readonly signal: AbortSignal
  /** From now on the vendor has `ms` to send something. */
  expect(ms: number): void
  /** We are not waiting for the vendor: until the next `expect` no limit counts. */
  rest(): void
  /** The call is over, and its connection may serve another. */
  end(): void
  /** Breaks the upstream request off. */
  cancel(reason: unknown): void
}

/** Starts the wait for a vendor's first sign. One timer serves the whole call; to expect more only moves it. */
export function startWatch(provider: string, client: AbortSignal, firstMs: number): Watch {
  const controller = new AbortController()
  let waiting = true
  let limit = firstMs
  let timer = setTimeout(onTimeout, firstMs)
  client.addEventListener('abort', onClientAbort)

  function onClientAbort(): void {
    cancel(client.reason)
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
    client.removeEventListener('abort', onClientAbort)
  }

  function cancel(reason: unknown): void {
    end()
    controller.abort(reason)
  }

  return {
    signal: controller.signal,
    expect,
    rest: () => {
      waiting = false
    },
    end,
    cancel,
  }
}
