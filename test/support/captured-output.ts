/** Text that a gateway has written, and a way to wait for more of it. */
export interface CapturedOutput {
  write(text: string): void
  /** No more will be written. */
  end(): void
  text(): string
  hasEnded(): boolean
  /** Resolves with the next write or the end. */
  changed(): Promise<void>
  /** Resolves once the text contains it; rejects if the output ends without it. */
  contains(text: string): Promise<void>
}

export function captureOutput(): CapturedOutput {
  let text = ''
  let hasEnded = false
  let waiting: (() => void)[] = []

  function notify(): void {
    const notified = waiting
    waiting = []
    for (const resolve of notified) resolve()
  }

  async function changed(): Promise<void> {
    if (hasEnded) return
    await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    write(more) {
      text += more
      notify()
    },
    end() {
      hasEnded = true
      notify()
    },
    text: () => text,
    hasEnded: () => hasEnded,
    changed,
    async contains(expected) {
      while (!text.includes(expected)) {
        if (hasEnded) throw new Error(`the gateway ended without writing "${expected}":\n${text}`)
        await changed()
      }
    },
  }
}
