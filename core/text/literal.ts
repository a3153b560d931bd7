import RE2 from 're2'

/**
 * A pattern for any of the literals in any case, in RE2's syntax. Case is ignored as in Unicode simple case folding, one
 * code point for one code point, so offsets never shift; `toLowerCase` would shift them.
 */
export function literalSource(literals: readonly string[]): string {
  return `(?i:${literals.map(escapeLiteral).join('|')})`
}

/** Finds any of the literals in a text. */
export function matchLiterals(literals: readonly string[], flags: '' | 'g' = ''): RE2 {
  return new RE2(literalSource(literals), flags)
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
