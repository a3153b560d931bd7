import { PatternFault } from './fault.ts'
import { skipIgnored } from './ignored.ts'
import type { Atom, Reader } from './reader.ts'
import type { Node } from './syntax.ts'

const MOST = 65_535

const QUANTIFIER = /([*+?])|\{(\d+)(?:(,)(\d*))?\}/y

/** Reads what says how often the atom is repeated, if anything does; `{,3}` is literal in PCRE2 before 10.43. */
export function readQuantifier(reader: Reader, { node, repeatable }: Atom): Node {
  skipIgnored(reader)
  if (reader.quoting) return node
  const bounds = readBounds(reader)
  if (bounds === undefined) return node
  if (!repeatable) failUnrepeatable()
  skipIgnored(reader)
  if (reader.scanner.take('+')) return { type: 'repeat', body: node, ...bounds, greed: 'possessive' }
  const isLazy = reader.scanner.take('?') !== reader.options.ungreedy
  return { type: 'repeat', body: node, ...bounds, greed: isLazy ? 'lazy' : 'greedy' }
}

/** Throws for a quantifier that stands where nothing can be repeated. */
export function refuseQuantifier({ scanner }: Reader): void {
  if (scanner.match(QUANTIFIER) !== undefined) failUnrepeatable()
}

function readBounds({ scanner }: Reader): { readonly min: number; readonly max: number } | undefined {
  const quantifier = scanner.match(QUANTIFIER)
  if (quantifier === undefined) return undefined
  const [, symbol, least, comma, most] = quantifier
  if (symbol !== undefined) return { min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Infinity }
  const min = Number(least)
  const max = comma === undefined ? min : most ? Number(most) : Infinity
  if (min > MOST || (max > MOST && max !== Infinity))
    throw new PatternFault(`a quantifier counts to more than ${MOST}`)
  if (max < min) throw new PatternFault('the numbers of a quantifier are out of order')
  return { min, max }
}

function failUnrepeatable(): never {
  throw new PatternFault('a quantifier follows nothing that can be repeated')
}
