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

/** The abstract syntax tree of a pattern. */
export interface ParsedPattern {
  readonly root: Node
  /** The bodies of the capturing groups by number, for subroutine calls such as `(?1)`. */
  readonly groupBodies: ReadonlyMap<number, Node>
}

/** Parses a PCRE pattern. Throws a `PatternError` if it is malformed or uses syntax that is not supported. */
export function parsePattern(body: string, modifiers: string): ParsedPattern {
  const { options, modes } = parseModifiers(modifiers)
  const groups = new CaptureGroups()
  const firstPass = parseOnce(body, options, modes, groups)
  return groups.hasReferences ? parseOnce(body, options, modes, new CaptureGroups(groups)) : firstPass
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
  const state: ParserState = {
    scanner,
    groups,
    modes: { ...modes, unicode: parseStartVerbs(scanner) || modes.unicode },
    options,
    isQuoting: false,
    groupBodies: new Map(),
    parseAlternation: (isBranchReset) => alternationOf(state.parseBranches(isBranchReset)),
    parseBranches(isBranchReset = false) {
      depth += 1
      if (depth > MAX_DEPTH) throw new PatternError(`Groups are nested more than ${MAX_DEPTH} levels deep`)
      const outerOptions = state.options
      const branches = parseBranches(state, isBranchReset)
      state.options = outerOptions
      depth -= 1
      return branches
    },
  }
  const root = state.parseAlternation()
  if (!scanner.isAtEnd) throw new PatternError('A closing parenthesis has no opening parenthesis')
  const start: Node = { type: 'assertion', kind: 'search-start' }
  return { root: modes.anchored ? sequenceOf([start, root]) : root, groupBodies: state.groupBodies }
}

/** Consumes leading `(*UTF)` and `(*UCP)` verbs; returns whether `(*UCP)` is among them. */
function parseStartVerbs(scanner: Scanner): boolean {
  return scanner.consumeMatch(/(?:\(\*(?:UTF8?|UCP)\))+/y)?.[0].includes('UCP') ?? false
}

function parseBranches(state: ParserState, isBranchReset: boolean): readonly Node[] {
  const { groups, scanner } = state
  const start = groups.count
  const branches: Node[] = []
  let highest = start
  do {
    if (isBranchReset) groups.count = start
    branches.push(parseSequence(state))
    highest = Math.max(highest, groups.count)
  } while (scanner.consume('|'))
  groups.count = highest
  return branches
}

function parseSequence(state: ParserState): Node {
  const { scanner } = state
  const parts: Node[] = []
  for (;;) {
    skipIgnored(state)
    if (scanner.isAtEnd || (!state.isQuoting && (scanner.isNext('|') || scanner.isNext(')')))) break
    parts.push(parseQuantifier(state, parseAtom(state)))
  }
  return sequenceOf(parts)
}

/** Parses a character, a character class, an assertion or a group. */
function parseAtom(state: ParserState): Atom {
  const { scanner, options, modes } = state
  if (state.isQuoting || scanner.consumeMatch(BEFORE_PLAIN_CHARACTER) !== undefined)
    return literalAtom(scanner.consumeCodePoint(), options)
  if (scanner.consume('(')) return parseGroup(state)
  if (scanner.consume('\\')) return parseEscape(state)
  if (scanner.consume('^')) return assertionAtom(options.multiline ? 'line-start' : 'text-start')
  if (scanner.consume('$')) {
    if (options.multiline) return assertionAtom('line-end')
    return assertionAtom(modes.dollarEndOnly ? 'text-end' : 'text-end-or-newline')
  }
  if (scanner.consume('.'))
    return repeatableAtom(characterSet(options.dotAll ? [] : shorthandSet('n', false), true))
  if (scanner.isNext('[')) return parseBracket(state)
  if (scanner.consumeMatch(QUANTIFIER) !== undefined) throw notRepeatableError()
  return literalAtom(scanner.consumeCodePoint(), options)
}

const BEFORE_PLAIN_CHARACTER = /(?=[^\\^$.[|()?*+{])/y

const QUANTIFIER = /([*+?])|\{(\d+)(?:(,)(\d*))?\}/y

function notRepeatableError(): PatternError {
  return new PatternError('A quantifier does not follow a repeatable item')
}

function parseBracket({ scanner, options, modes }: ParserState): Atom {
  const wordBoundary = scanner.consumeMatch(/\[\[:([<>]):\]\]/y)?.[1]
  if (wordBoundary !== undefined)
    return { node: wordStartOrEnd(wordBoundary === '<', modes.unicode), isRepeatable: false }
  if (scanner.consumeMatch(/\[([:.=])\^?[a-z]*\1\]/y) !== undefined)
    throw new PatternError('POSIX classes such as [:alpha:] must be in a second pair of brackets')
  scanner.consume('[')
  return repeatableAtom(parseCharacterClass(scanner, { ...options, unicode: modes.unicode }))
}

/** `[[:<:]]` matches at the start of a word, `[[:>:]]` at the end. */
function wordStartOrEnd(isStart: boolean, unicode: boolean): Node {
  const body = characterSet(shorthandSet('w', unicode))
  const { node } = assertionAtom(unicode ? 'unicode-word-boundary' : 'word-boundary')
  return sequenceOf([node, { type: 'look-around', behind: !isStart, negated: false, body }])
}

/** Parses the quantifier of an atom, if there is one. `{,3}` is literal, as in PCRE2 before 10.43. */
function parseQuantifier(state: ParserState, { node, isRepeatable }: Atom): Node {
  skipIgnored(state)
  if (state.isQuoting) return node
  const bounds = parseBounds(state)
  if (bounds === undefined) return node
  if (!isRepeatable) throw notRepeatableError()
  skipIgnored(state)
  if (state.scanner.consume('+'))
    return { type: 'quantifier', body: node, ...bounds, greediness: 'possessive' }
  const isLazy = state.scanner.consume('?') !== state.options.ungreedy
  return { type: 'quantifier', body: node, ...bounds, greediness: isLazy ? 'lazy' : 'greedy' }
}

const MAX_REPETITIONS = 65_535

function parseBounds({ scanner }: ParserState): { readonly min: number; readonly max: number } | undefined {
  const quantifier = scanner.consumeMatch(QUANTIFIER)
  if (quantifier === undefined) return undefined
  const [, symbol, lower, comma, upper] = quantifier
  if (symbol !== undefined) return { min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Infinity }
  const min = Number(lower)
  const max = comma === undefined ? min : upper ? Number(upper) : Infinity
  if (min > MAX_REPETITIONS || (max > MAX_REPETITIONS && max !== Infinity))
    throw new PatternError(`A quantifier exceeds ${MAX_REPETITIONS} repetitions`)
  if (max < min) throw new PatternError('The bounds of a quantifier are out of order')
  return { min, max }
}

/** Parses an escape outside of character classes, after its backslash. */
function parseEscape(state: ParserState): Atom {
  const { scanner, modes, options } = state
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
  if (scanner.consume('X')) return repeatableAtom({ type: 'grapheme' })
  if (scanner.consumeMatch(/N(?!\{(?!\d+(?:,\d*)?\}))/y) !== undefined)
    return repeatableAtom(characterSet(shorthandSet('n', false), true))
  const property = scanner.consumeMatch(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
  if (property === undefined) return parseReference(state)
  return repeatableAtom(characterSet(propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')))
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
