let pending: Promise<void> | undefined

/**
 * Resolves in the check phase of the current event loop iteration, when all input of the iteration has been
 * processed. Responses wait for it, so that they are sent together: separate writes between two reads would
 * each wake the receiver, and waking it costs the sender more than the rest of a response. See
 * docs/decisions/http.md, "Whole replies are flushed once per event-loop turn".
 */
export function nextImmediate(): Promise<void> {
  pending ??= new Promise((resolve) => {
    setImmediate(() => {
      pending = undefined
      resolve()
    })
  })
  return pending
}
