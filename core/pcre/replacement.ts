/** A replacement that has been read: texts, and numbers of groups, 0 being the whole match. */
export type Replacement = readonly (string | number)[]

/** The text as it is, whatever it holds. */
export function literalReplacement(text: string): Replacement {
  return [text]
}

/** Reads a replacement as `preg_replace` does: `$1`, `${1}` and `\1` are groups, `\\` and `\$` lose a backslash. */
export function parseReplacement(text: string): Replacement {
  const pieces: (string | number)[] = []
  let from = 0
  for (const found of text.matchAll(ESCAPE_OR_GROUP)) {
    const [whole, literal, ...groups] = found
    pieces.push(text.slice(from, found.index), literal ?? Number(groups.find((group) => group !== undefined)))
    from = found.index + whole.length
  }
  return [...pieces, text.slice(from)]
}

const ESCAPE_OR_GROUP = /\\([\\$])|\\(\d{1,2})|\$(\d{1,2})|\$\{(\d{1,2})\}/g
