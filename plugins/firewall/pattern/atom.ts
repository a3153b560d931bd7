import { readClass } from './character-class.ts'
import { readEscape } from './escaped-atom.ts'
import { PatternFault } from './fault.ts'
import { readGroup } from './group.ts'
import { literal } from './literal.ts'
import { shorthandSet } from './named-sets.ts'
import { refuseQuantifier } from './quantifier.ts'
import { type Atom, assertion, type Reader, repeatable } from './reader.ts'
import { type Node, sequence, set } from './syntax.ts'

/** Reads a character, a class, an assertion or a group. */
export function readAtom(reader: Reader): Atom {
  const { scanner, options, modes } = reader
  if (reader.quoting || scanner.match(PLAIN) !== undefined) return literal(scanner.next(), options)
  if (scanner.take('(')) return readGroup(reader)
  if (scanner.take('\\')) return readEscape(reader)
  if (scanner.take('^')) return assertion(options.multiline ? 'line-start' : 'text-start')
  if (scanner.take('$')) {
    if (options.multiline) return assertion('line-end')
    return assertion(modes.dollarAtEnd ? 'text-end' : 'text-end-or-newline')
  }
  if (scanner.take('.')) return repeatable(set(options.dotAll ? [] : shorthandSet('n', false), true))
  if (scanner.sees('[')) return readBracket(reader)
  refuseQuantifier(reader)
  return literal(scanner.next(), options)
}

const PLAIN = /(?=[^\\^$.[|()?*+{])/y

function readBracket({ scanner, options, modes }: Reader): Atom {
  const side = scanner.match(/\[\[:([<>]):\]\]/y)?.[1]
  if (side !== undefined) return { node: wordSide(side === '<', modes.unicode), repeatable: false }
  if (scanner.match(/\[([:.=])\^?[a-z]*\1\]/y) !== undefined)
    throw new PatternFault('POSIX classes such as [:alpha:] belong in a second pair of brackets')
  scanner.take('[')
  return repeatable(readClass(scanner, { ...options, unicode: modes.unicode }))
}

/** `[[:<:]]` and `[[:>:]]`: where a word starts and where it ends. */
function wordSide(isStart: boolean, unicode: boolean): Node {
  const body = set(shorthandSet('w', unicode))
  const { node } = assertion(unicode ? 'unicode-word-edge' : 'word-edge')
  return sequence([node, { type: 'look', behind: !isStart, negated: false, body }])
}
