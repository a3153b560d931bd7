interface HeartbeatOptions {
  /** Resolves when the other process has responded. Rejections are ignored. */
  readonly ping: () => Promise<unknown>
  /** The other process counts as hung when it has not responded for this long. */
  readonly timeoutMs: number
  /** Called once. */
  readonly onMissed: () => void
}

/** Pings within the timeout. */
const PINGS = 5

/** Pings another process until it does not respond in time. Returns a function that stops it. */
export function watchHeartbeat({ ping, timeoutMs, onMissed }: HeartbeatOptions): () => void {
  const intervalMs = timeoutMs / PINGS
  let respondedAt = performance.now()
  let checkedAt = respondedAt
  const timer = setInterval(check, intervalMs).unref()

  function check(): void {
    const now = performance.now()
    // If this process did not run either, responses that have arrived are read after this turn.
    if (now - checkedAt > 2 * intervalMs) respondedAt = now
    checkedAt = now
    if (now - respondedAt >= timeoutMs) {
      clearInterval(timer)
      onMissed()
      return
    }
    ping().then(
      () => {
        respondedAt = performance.now()
      },
      () => undefined,
    )
  }

  return () => clearInterval(timer)
}
