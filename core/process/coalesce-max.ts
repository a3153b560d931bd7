/**
 * Limits `send` to one call at a time. Values that arrive while a call is in flight are coalesced: the next
 * call gets the greatest of them. The returned function settles with the call that carried its value, or a
 * greater one.
 */
export function coalesceMax(
  send: (greatest: number) => Promise<unknown>,
): (value: number) => Promise<unknown> {
  let inFlight: Promise<unknown> = Promise.resolve()
  let queued: { greatest: number; readonly sent: Promise<unknown> } | undefined

  async function sendNext(batch: { readonly greatest: number }): Promise<void> {
    await inFlight.catch(() => undefined)
    queued = undefined
    await send(batch.greatest)
  }

  return (value) => {
    if (queued === undefined) {
      const batch = { greatest: value }
      const sent = sendNext(batch)
      queued = Object.assign(batch, { sent })
      inFlight = sent
    }
    queued.greatest = Math.max(queued.greatest, value)
    return queued.sent
  }
}
