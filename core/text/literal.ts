import RE2 from 're2'

/**
 * Finds any of the literals in a text, in any case. Case is ignored as in Unicode simple case folding, one code point for
 * one code point, so offsets never shift; `toLowerCase` would shift them.
 */
export function matchLiterals(literals: readonly string[], flags: '' | 'g' = ''): RE2 {
  return new RE2(literals.map(escapeLiteral).join('|'), `i${flags}`)
}

function escapeLiteral(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
