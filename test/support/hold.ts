/** A promise that a test resolves when others may go on. */
export interface Hold {
  readonly released: Promise<void>
  release(): void
}

export function createHold(): Hold {
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  return { released, release }
}
