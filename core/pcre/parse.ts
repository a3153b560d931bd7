import { type AssertionKind, alternationOf, characterSet, type Node, sequenceOf } from './ast.ts'
import { CaptureGroups } from './capture-groups.ts'
import { propertySet, shorthandSet } from './character-sets.ts'
import { type PatternModes, type PatternOptions, parseModifiers } from './modifiers.ts'
import { parseCharacterClass, parseCharacterEscape } from './parse-class.ts'
import { parseGroup, parseReference } from './parse-group.ts'
import {
  type Atom,
  assertionAtom,
  literalAtom,
  type ParserState,
  repeatableAtom,
  skipIgnored,
} from './parser-state.ts'
import { PatternError } from './pattern-error.ts'
import { Scanner } from './scanner.ts'

/** A pattern that has been read. */
export interface ParsedPattern {
  readonly root: Node
  /** The bodies of the capturing groups, for calls such as `(?1)`. */
  readonly groupBodies: ReadonlyMap<number, Node>
}

/** Reads the PCRE pattern `body`; throws a `PatternFault` for what is malformed or known to be out of reach. */
export function parsePattern(body: string, modifiers: string): ParsedPattern {
  const { options, modes } = parseModifiers(modifiers)
  const groups = new CaptureGroups()
  const draft = parseOnce(body, options, modes, groups)
  return groups.hasReferences ? parseOnce(body, options, modes, new CaptureGroups(groups)) : draft
}

const MAX_DEPTH = 250

function parseOnce(
  body: string,
  options: PatternOptions,
  modes: PatternModes,
  groups: CaptureGroups,
): ParsedPattern {
  let depth = 0
  const scanner = new Scanner(body)
  const reader: ParserState = {
    scanner,
    groups,
    modes: { ...modes, unicode: parseStartVerbs(scanner) || modes.unicode },
    options,
    isQuoting: false,
    groupBodies: new Map(),
    parseAlternation(reset = false) {
      depth += 1
      if (depth > MAX_DEPTH) throw new PatternError(`groups are nested deeper than ${MAX_DEPTH}`)
      const outer = reader.options
      const branches = parseBranches(reader, reset)
      reader.options = outer
      depth -= 1
      return alternationOf(branches)
    },
  }
  const root = reader.parseAlternation()
  if (!scanner.isAtEnd) throw new PatternError('there is a ) too many')
  const start: Node = { type: 'assertion', kind: 'search-start' }
  return { root: modes.anchored ? sequenceOf([start, root]) : root, groupBodies: reader.groupBodies }
}

/** Steps over `(*UTF)` and `(*UCP)`; true if the latter is among them. */
function parseStartVerbs(scanner: Scanner): boolean {
  return scanner.consumeMatch(/(?:\(\*(?:UTF8?|UCP)\))+/y)?.[0].includes('UCP') ?? false
}

function parseBranches(reader: ParserState, reset: boolean): readonly Node[] {
  const { groups, scanner } = reader
  const start = groups.count
  const branches: Node[] = []
  let highest = start
  do {
    if (reset) groups.count = start
    branches.push(parseSequence(reader))
    highest = Math.max(highest, groups.count)
  } while (scanner.consume('|'))
  groups.count = highest
  return branches
}

function parseSequence(reader: ParserState): Node {
  const { scanner } = reader
  const parts: Node[] = []
  for (;;) {
    skipIgnored(reader)
    if (scanner.isAtEnd || (!reader.isQuoting && (scanner.isNext('|') || scanner.isNext(')')))) break
    parts.push(parseQuantifier(reader, parseAtom(reader)))
  }
  return sequenceOf(parts)
}

/** Reads a character, a class, an assertion or a group. */
function parseAtom(reader: ParserState): Atom {
  const { scanner, options, modes } = reader
  if (reader.isQuoting || scanner.consumeMatch(PLAIN_CHARACTER) !== undefined)
    return literalAtom(scanner.consumeCodePoint(), options)
  if (scanner.consume('(')) return parseGroup(reader)
  if (scanner.consume('\\')) return parseEscape(reader)
  if (scanner.consume('^')) return assertionAtom(options.multiline ? 'line-start' : 'text-start')
  if (scanner.consume('$')) {
    if (options.multiline) return assertionAtom('line-end')
    return assertionAtom(modes.dollarEndOnly ? 'text-end' : 'text-end-or-newline')
  }
  if (scanner.consume('.'))
    return repeatableAtom(characterSet(options.dotAll ? [] : shorthandSet('n', false), true))
  if (scanner.isNext('[')) return parseBracket(reader)
  rejectQuantifier(reader)
  return literalAtom(scanner.consumeCodePoint(), options)
}

const PLAIN_CHARACTER = /(?=[^\\^$.[|()?*+{])/y

function parseBracket({ scanner, options, modes }: ParserState): Atom {
  const side = scanner.consumeMatch(/\[\[:([<>]):\]\]/y)?.[1]
  if (side !== undefined) return { node: wordStartOrEnd(side === '<', modes.unicode), isRepeatable: false }
  if (scanner.consumeMatch(/\[([:.=])\^?[a-z]*\1\]/y) !== undefined)
    throw new PatternError('POSIX classes such as [:alpha:] belong in a second pair of brackets')
  scanner.consume('[')
  return repeatableAtom(parseCharacterClass(scanner, { ...options, unicode: modes.unicode }))
}

/** `[[:<:]]` and `[[:>:]]`: where a word starts and where it ends. */
function wordStartOrEnd(isStart: boolean, unicode: boolean): Node {
  const body = characterSet(shorthandSet('w', unicode))
  const { node } = assertionAtom(unicode ? 'unicode-word-boundary' : 'word-boundary')
  return sequenceOf([node, { type: 'look-around', behind: !isStart, negated: false, body }])
}

const MAX_REPETITIONS = 65_535

const QUANTIFIER = /([*+?])|\{(\d+)(?:(,)(\d*))?\}/y

/** Reads what says how often the atom is repeated, if anything does; `{,3}` is literal in PCRE2 before 10.43. */
function parseQuantifier(reader: ParserState, { node, isRepeatable: repeatable }: Atom): Node {
  skipIgnored(reader)
  if (reader.isQuoting) return node
  const bounds = parseBounds(reader)
  if (bounds === undefined) return node
  if (!repeatable) failUnrepeatable()
  skipIgnored(reader)
  if (reader.scanner.consume('+'))
    return { type: 'quantifier', body: node, ...bounds, greediness: 'possessive' }
  const isLazy = reader.scanner.consume('?') !== reader.options.ungreedy
  return { type: 'quantifier', body: node, ...bounds, greediness: isLazy ? 'lazy' : 'greedy' }
}

/** Throws for a quantifier that stands where nothing can be repeated. */
function rejectQuantifier({ scanner }: ParserState): void {
  if (scanner.consumeMatch(QUANTIFIER) !== undefined) failUnrepeatable()
}

function parseBounds({ scanner }: ParserState): { readonly min: number; readonly max: number } | undefined {
  const quantifier = scanner.consumeMatch(QUANTIFIER)
  if (quantifier === undefined) return undefined
  const [, symbol, least, comma, most] = quantifier
  if (symbol !== undefined) return { min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Infinity }
  const min = Number(least)
  const max = comma === undefined ? min : most ? Number(most) : Infinity
  if (min > MAX_REPETITIONS || (max > MAX_REPETITIONS && max !== Infinity))
    throw new PatternError(`a quantifier counts to more than ${MAX_REPETITIONS}`)
  if (max < min) throw new PatternError('the numbers of a quantifier are out of order')
  return { min, max }
}

function failUnrepeatable(): never {
  throw new PatternError('a quantifier follows nothing that can be repeated')
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
  body: alternationOf([sequenceOf([CARRIAGE_RETURN, LINE_FEED]), characterSet(shorthandSet('v', false))]),
}

/** Reads what follows a backslash outside of classes. */
function parseEscape(reader: ParserState): Atom {
  const { scanner, modes, options } = reader
  const code = parseCharacterEscape(scanner)
  if (code !== undefined) return literalAtom(code, options)
  const shorthand = scanner.consumeMatch(/[dDhHsSvVwW]/y)
  if (shorthand !== undefined) return repeatableAtom(characterSet(shorthandSet(shorthand[0], modes.unicode)))
  const anchor = ANCHORS[scanner.consumeMatch(/[AzZG]/y)?.[0] ?? '']
  if (anchor !== undefined) return assertionAtom(anchor)
  if (scanner.consume('b')) return assertionAtom(modes.unicode ? 'unicode-word-boundary' : 'word-boundary')
  if (scanner.consume('B'))
    return assertionAtom(modes.unicode ? 'not-unicode-word-boundary' : 'not-word-boundary')
  if (scanner.consume('K')) return { node: { type: 'keep' }, isRepeatable: false }
  if (scanner.consume('R')) return repeatableAtom(ANY_NEWLINE)
  if (scanner.consumeMatch(/N(?!\{(?!\d+(?:,\d*)?\}))/y) !== undefined)
    return repeatableAtom(characterSet(shorthandSet('n', false), true))
  const property = scanner.consumeMatch(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
  if (property === undefined) return parseReference(reader)
  return repeatableAtom(characterSet(propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')))
}
