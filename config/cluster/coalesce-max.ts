/**
 * Limits `send` to one call at a time. Values that arrive while a call is in flight are coalesced: the next
 * call gets the greatest of them. The returned function settles with the call that carried its value, or a
 * greater one.
 */
export function coalesceMax<Result>(
  send: (greatest: number) => Promise<Result>,
): (value: number) => Promise<Result> {
  let inFlight: Promise<unknown> = Promise.resolve()
  let queued: { greatest: number; readonly sent: Promise<Result> } | undefined

  async function sendNext(batch: { readonly greatest: number }): Promise<Result> {
    await inFlight.catch(() => undefined)
    queued = undefined
    return send(batch.greatest)
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
