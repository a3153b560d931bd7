import { signal } from '@preact/signals'

/** True while the gateway does not respond. */
export const isDisconnected = signal(false)

/** How often the gateway has come back. What failed meanwhile is read again. */
export const reconnections = signal(0)

const FIRST_DELAY_MS = 1000
const MAX_DELAY_MS = 15_000

/** Without a failure for so long, the delays begin anew. */
const CALM_MS = 60_000

let delayMs = FIRST_DELAY_MS
let lastFailureMs = 0

/** Calls `probe` again and again until it resolves. It rejects while the gateway does not respond. */
export function reconnect(probe: () => Promise<unknown>): void {
  if (isDisconnected.value) return
  isDisconnected.value = true
  const now = performance.now()
  if (now - lastFailureMs > CALM_MS) delayMs = FIRST_DELAY_MS
  const attempt = () =>
    probe().then(
      () => {
        lastFailureMs = performance.now()
        isDisconnected.value = false
        reconnections.value += 1
      },
      () => schedule(),
    )
  function schedule() {
    setTimeout(attempt, delayMs)
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
  }
  schedule()
}
