/** The parts of a replacement: literal strings and group numbers. Group 0 is the whole match. */
export type Replacement = readonly (string | number)[]

/** Builds a replacement in which no character is special. */
export function literalReplacement(text: string): Replacement {
  return [text]
}

/** Parses a replacement like `preg_replace`: `$1`, `${1}` and `\1` are groups; `\\` and `\$` are escapes. */
export function parseReplacement(text: string): Replacement {
  const parts: (string | number)[] = []
  let position = 0
  for (const match of text.matchAll(ESCAPE_OR_GROUP)) {
    const [whole, escaped, ...groups] = match
    const group = Number(groups.find((digits) => digits !== undefined))
    parts.push(text.slice(position, match.index), escaped ?? group)
    position = match.index + whole.length
  }
  return [...parts, text.slice(position)]
}

const ESCAPE_OR_GROUP = /\\([\\$])|\\(\d{1,2})|\$(\d{1,2})|\$\{(\d{1,2})\}/g

/** Whether a replacement refers to groups. */
export function hasGroups(replacement: Replacement): boolean {
  return replacement.some((part) => typeof part === 'number')
}

/** The length of a replacement whose groups have one character each. */
export function replacementLength(replacement: Replacement): number {
  return replacement.reduce<number>((sum, part) => sum + (typeof part === 'string' ? part.length : 1), 0)
}
