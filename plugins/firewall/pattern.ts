import RE2 from 're2'

/** A pattern that can be run, or the reason why it never matches. */
export type CompiledPattern = { readonly regex: RE2 } | { readonly error: string }

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s

/** RE2's flags for PCRE modifiers; `u` and `D` are how RE2 works anyway. */
const FLAGS: Readonly<Record<string, string>> = { i: 'i', m: 'm', s: 's', u: '', D: '' }

/**
 * Compiles a firewall regex (interface: "Pattern rules"): with delimiters as it stands, else as `/…/i`.
 * A pattern that cannot be compiled is no error here: it counts as no match, and its owner is told.
 */
export function compilePattern(pattern: string): CompiledPattern {
  const [, , body = pattern, modifiers = 'i'] = pattern.match(DELIMITED) ?? []
  const unknown = [...modifiers].filter((modifier) => FLAGS[modifier] === undefined)
  if (unknown.length > 0) return { error: `the modifier ${unknown.join(', ')} cannot be evaluated` }
  const flags = new Set([...modifiers].map((modifier) => FLAGS[modifier]).join(''))
  try {
    return { regex: new RE2(body, `g${[...flags].join('')}`) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : 'the pattern cannot be compiled' }
  }
}
