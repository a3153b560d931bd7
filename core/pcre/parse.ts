import { type AssertionKind, choice, type Node, sequence, set } from './ast.ts'
import { Groups } from './capture-groups.ts'
import { propertySet, shorthandSet } from './character-sets.ts'
import { type Modes, type Options, readModifiers } from './modifiers.ts'
import { readCharacterEscape, readClass } from './parse-class.ts'
import { readGroup, readReference } from './parse-group.ts'
import { type Atom, assertion, literal, type Reader, repeatable, skipIgnored } from './parser-context.ts'
import { PatternFault } from './pattern-error.ts'
import { Scanner } from './scanner.ts'

/** A pattern that has been read. */
export interface Parsed {
  readonly root: Node
  /** The bodies of the capturing groups, for calls such as `(?1)`. */
  readonly bodies: ReadonlyMap<number, Node>
}

/** Reads the PCRE pattern `body`; throws a `PatternFault` for what is malformed or known to be out of reach. */
export function parsePattern(body: string, modifiers: string): Parsed {
  const { options, modes } = readModifiers(modifiers)
  const groups = new Groups()
  const draft = readPattern(body, options, modes, groups)
  return groups.wereAsked ? readPattern(body, options, modes, new Groups(groups)) : draft
}

const DEEPEST = 250

function readPattern(body: string, options: Options, modes: Modes, groups: Groups): Parsed {
  let depth = 0
  const scanner = new Scanner(body)
  const reader: Reader = {
    scanner,
    groups,
    modes: { ...modes, unicode: readStartVerbs(scanner) || modes.unicode },
    options,
    quoting: false,
    bodies: new Map(),
    readChoice(reset = false) {
      depth += 1
      if (depth > DEEPEST) throw new PatternFault(`groups are nested deeper than ${DEEPEST}`)
      const outer = reader.options
      const branches = readBranches(reader, reset)
      reader.options = outer
      depth -= 1
      return choice(branches)
    },
  }
  const root = reader.readChoice()
  if (!scanner.atEnd) throw new PatternFault('there is a ) too many')
  const start: Node = { type: 'assertion', kind: 'search-start' }
  return { root: modes.anchored ? sequence([start, root]) : root, bodies: reader.bodies }
}

/** Steps over `(*UTF)` and `(*UCP)`; true if the latter is among them. */
function readStartVerbs(scanner: Scanner): boolean {
  return scanner.match(/(?:\(\*(?:UTF8?|UCP)\))+/y)?.[0].includes('UCP') ?? false
}

function readBranches(reader: Reader, reset: boolean): readonly Node[] {
  const { groups, scanner } = reader
  const start = groups.count
  const branches: Node[] = []
  let highest = start
  do {
    if (reset) groups.count = start
    branches.push(readSequence(reader))
    highest = Math.max(highest, groups.count)
  } while (scanner.take('|'))
  groups.count = highest
  return branches
}

function readSequence(reader: Reader): Node {
  const { scanner } = reader
  const parts: Node[] = []
  for (;;) {
    skipIgnored(reader)
    if (scanner.atEnd || (!reader.quoting && (scanner.sees('|') || scanner.sees(')')))) break
    parts.push(readQuantifier(reader, readAtom(reader)))
  }
  return sequence(parts)
}

/** Reads a character, a class, an assertion or a group. */
function readAtom(reader: Reader): Atom {
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

const MOST = 65_535

const QUANTIFIER = /([*+?])|\{(\d+)(?:(,)(\d*))?\}/y

/** Reads what says how often the atom is repeated, if anything does; `{,3}` is literal in PCRE2 before 10.43. */
function readQuantifier(reader: Reader, { node, repeatable }: Atom): Node {
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
function refuseQuantifier({ scanner }: Reader): void {
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
function readEscape(reader: Reader): Atom {
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
