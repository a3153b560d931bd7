/** A line of a text, or undefined in place of one that is too long. */
export interface NumberedLine {
  /** From 1. */
  readonly number: number
  readonly text: string | undefined
}

/** Yields the lines of a text that arrives in pieces. Keeps at most `maxChars` characters in memory. */
export async function* readLines(
  pieces: AsyncIterable<string>,
  maxChars: number,
): AsyncGenerator<NumberedLine, void, undefined> {
  let number = 1
  let text = ''
  let isTooLong = false
  const take = (part: string) => {
    if (text.length + part.length > maxChars) isTooLong = true
    text = isTooLong ? '' : text + part
  }
  const end = (): NumberedLine => {
    const line = { number, text: isTooLong ? undefined : text }
    number += 1
    text = ''
    isTooLong = false
    return line
  }
  for await (const piece of pieces) {
    const parts = piece.split('\n')
    for (const [index, part] of parts.entries()) {
      take(part)
      if (index < parts.length - 1) yield end()
    }
  }
  if (text !== '' || isTooLong) yield end()
}
