let turn: Promise<void> | undefined

/**
 * Resolves when all that this turn of the event loop has read was looked at. Answers wait for it, so that they go out together: written one by
 * one between two reads, each would wake its reader up by itself, which costs the writer more than all else about an answer.
 */
export function nextImmediate(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
