/** Sends numbers in waves: those that come while one is under way go out together with the next, as the greatest of them. */
export function coalesceMax(
  send: (greatest: number) => Promise<unknown>,
): (value: number) => Promise<unknown> {
  let running: Promise<unknown> = Promise.resolve()
  let waiting: { greatest: number; readonly sent: Promise<unknown> } | undefined

  async function sendNext(wave: { readonly greatest: number }): Promise<void> {
    await running.catch(() => undefined)
    waiting = undefined
    await send(wave.greatest)
  }

  return (value) => {
    if (waiting === undefined) {
      const wave = { greatest: value }
      const sent = sendNext(wave)
      waiting = Object.assign(wave, { sent })
      running = sent
    }
    waiting.greatest = Math.max(waiting.greatest, value)
    return waiting.sent
  }
}
