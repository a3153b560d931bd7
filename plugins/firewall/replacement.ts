/** Text for a match and its groups. */
export type Replacement = (match: string, groups: readonly (string | undefined)[]) => string

const REFERENCE = /\\(\d{1,2})|\$(\d{1,2})|\$\{(\d{1,2})\}/g

/** The text as it is, whatever it holds. */
export function literalReplacement(text: string): Replacement {
  return () => text
}

/** Expands `$1`, `${1}` and `\1` as `preg_replace` does, 0 being the whole match; nothing else is special. */
export function expandReplacement(template: string): Replacement {
  const pieces: (string | number)[] = []
  let from = 0
  for (const reference of template.matchAll(REFERENCE)) {
    pieces.push(template.slice(from, reference.index), Number(reference[1] ?? reference[2] ?? reference[3]))
    from = reference.index + reference[0].length
  }
  pieces.push(template.slice(from))
  return (match, groups) =>
    pieces.map((piece) => (typeof piece === 'string' ? piece : ([match, ...groups][piece] ?? ''))).join('')
}
