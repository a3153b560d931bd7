import { readCharacterEscape } from './escapes.ts'
import { literal } from './literal.ts'
import { shorthandSet } from './named-sets.ts'
import { propertySet } from './properties.ts'
import { type Atom, assertion, type Reader, repeatable } from './reader.ts'
import { readReference } from './reference.ts'
import { type AssertionKind, choice, type Node, sequence, set } from './syntax.ts'

const ANCHORS: Readonly<Record<string, AssertionKind>> = {
  A: 'text-start',
  z: 'text-end',
  Z: 'text-end-or-newline',
  G: 'search-start',
}

const CARRIAGE_RETURN: Node = { type: 'character', code: 13 }
const LINE_FEED: Node = { type: 'character', code: 10 }
const ANY_NEWLINE: Node = {
  type: 'atomic',
  body: choice([sequence([CARRIAGE_RETURN, LINE_FEED]), set(shorthandSet('v', false))]),
}

/** Reads what follows a backslash outside of classes. */
export function readEscape(reader: Reader): Atom {
  const { scanner, modes, options } = reader
  const code = readCharacterEscape(scanner)
  if (code !== undefined) return literal(code, options)
  const shorthand = scanner.match(/[dDhHsSvVwW]/y)
  if (shorthand !== undefined) return repeatable(set(shorthandSet(shorthand[0], modes.unicode)))
  const anchor = ANCHORS[scanner.match(/[AzZG]/y)?.[0] ?? '']
  if (anchor !== undefined) return assertion(anchor)
  if (scanner.take('b')) return assertion(modes.unicode ? 'unicode-word-edge' : 'word-edge')
  if (scanner.take('B')) return assertion(modes.unicode ? 'not-unicode-word-edge' : 'not-word-edge')
  if (scanner.take('K')) return { node: { type: 'keep' }, repeatable: false }
  if (scanner.take('R')) return repeatable(ANY_NEWLINE)
  if (scanner.match(/N(?!\{(?!\d+(?:,\d*)?\}))/y) !== undefined)
    return repeatable(set(shorthandSet('n', false), true))
  const property = scanner.match(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
  if (property === undefined) return readReference(reader)
  return repeatable(set(propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')))
}
