import {
  type AssertionKind,
  alternationOf,
  characterSet,
  EMPTY_NODE,
  type LookAround,
  type Node,
  removeCaptures,
  sequenceOf,
  someNode,
  type Verb,
} from './ast.ts'
import { propertySet, shorthandSet } from './character-sets.ts'
import { parseCharacterClass, parseCharacterEscape, parseOctal } from './parse-class.ts'
import {
  type Atom,
  applyInlineFlags,
  assertionAtom,
  CaptureGroups,
  literalAtom,
  type ParserState,
  type PatternModes,
  type PatternOptions,
  parseModifiers,
  repeatableAtom,
  Scanner,
  skipIgnored,
} from './parser-state.ts'
import { PatternError } from './pattern.ts'

/** Parses a group, after its opening parenthesis and including the closing one. */
function parseGroup(state: ParserState): Atom {
  const { scanner } = state
  const spelling = scanner.consumeMatch(/\*([a-z_]+):/y)?.[1]
  if (spelling !== undefined)
    return parseSpecialGroup(state, ALPHABETIC_SPELLINGS[spelling] ?? `*${spelling}:`)
  const verb = scanner.consumeMatch(/\*(F(?:AIL)?|ACCEPT|COMMIT|PRUNE|SKIP|THEN)\)/y)?.[1]
  if (verb !== undefined)
    return { node: { type: 'verb', verb: VERBS[verb] ?? 'fail' }, isRepeatable: verb === 'ACCEPT' }
  if (scanner.isNext('*'))
    throw new PatternError('Verbs with a name and verbs such as (*CRLF) are not supported')
  if (!scanner.consume('?')) return parseCapture(state, undefined)
  const name = scanner.consumeMatch(/P?<([\p{L}_][\p{L}\p{N}_]*)>|'([\p{L}_][\p{L}\p{N}_]*)'/uy)
  if (name !== undefined) return parseCapture(state, name[1] ?? name[2])
  const referenced = scanner.consumeMatch(/P=([^)]*)\)/y)
  if (referenced !== undefined) return backReference(state, referenced[1] ?? '')
  const called = scanner.consumeMatch(/(?:P>|&)([^)]*)\)|(R|[-+]?\d+)\)/y)
  if (called !== undefined) return subroutineCall(state, called[1] ?? called[2] ?? '')
  if (scanner.consume('(')) return parseConditional(state)
  const flags = scanner.consumeMatch(/(\^?[imsxnUJ]*(?:-[imsxnUJ]*)?)([:)])/y)
  if (flags !== undefined) return parseInlineFlags(state, flags[1] ?? '', flags[2] === ':')
  const kind = scanner.consumeMatch(/[=!>|]|<[=!]/y)?.[0]
  if (kind === undefined) throw new PatternError('The characters after (? are not recognized')
  return parseSpecialGroup(state, `?${kind}`)
}

const VERBS: Readonly<Record<string, Verb>> = {
  ACCEPT: 'accept',
  COMMIT: 'commit',
  PRUNE: 'prune',
  SKIP: 'skip',
  THEN: 'then',
}

/** Alphabetic spellings of groups, as in `(*pla:…)`. */
const ALPHABETIC_SPELLINGS: Readonly<Record<string, string>> = {
  pla: '?=',
  positive_lookahead: '?=',
  nla: '?!',
  negative_lookahead: '?!',
  plb: '?<=',
  positive_lookbehind: '?<=',
  nlb: '?<!',
  negative_lookbehind: '?<!',
  atomic: '?>',
}

function parseCapture(state: ParserState, name: string | undefined): Atom {
  if (name === undefined && state.options.namedCapturesOnly) return repeatableAtom(parseGroupBody(state))
  const index = state.groups.open(name, state.options.duplicateNames)
  const body = parseGroupBody(state)
  if (!state.groupBodies.has(index)) state.groupBodies.set(index, body)
  return repeatableAtom({ type: 'capture', index, body })
}

/** Flags without a colon apply up to the end of the enclosing group, which restores the outer options. */
function parseInlineFlags(state: ParserState, flags: string, isScoped: boolean): Atom {
  const outerOptions = state.options
  state.options = applyInlineFlags(flags, outerOptions)
  if (!isScoped) return { node: EMPTY_NODE, isRepeatable: false }
  const body = parseGroupBody(state)
  state.options = outerOptions
  return repeatableAtom(body)
}

function parseSpecialGroup(state: ParserState, kind: string): Atom {
  const lookAround = LOOK_AROUNDS[kind]
  if (lookAround !== undefined)
    return repeatableAtom({ type: 'look-around', ...lookAround, body: parseGroupBody(state) })
  if (kind === '?>') return repeatableAtom({ type: 'atomic', body: parseGroupBody(state) })
  if (kind === '?|') return repeatableAtom(parseGroupBody(state, true))
  throw new PatternError(`Groups that start with (${kind} are not supported`)
}

const LOOK_AROUNDS: Readonly<Record<string, Pick<LookAround, 'behind' | 'negated'>>> = {
  '?=': { behind: false, negated: false },
  '?!': { behind: false, negated: true },
  '?<=': { behind: true, negated: false },
  '?<!': { behind: true, negated: true },
}

function parseGroupBody(state: ParserState, isBranchReset = false): Node {
  const body = state.parseAlternation(isBranchReset)
  requireGroupEnd(state)
  return body
}

function requireGroupEnd({ scanner }: ParserState): void {
  if (!scanner.consume(')')) throw new PatternError('A group has no closing parenthesis')
}

/**
 * Parses a conditional group. `(?(DEFINE)…)` only defines groups. `(?(?=a)b|c)` becomes `(?=a)b|(?!a)c`, and
 * a condition on a group becomes two tests of the group.
 */
function parseConditional(state: ParserState): Atom {
  if (state.scanner.consume('DEFINE)')) {
    parseGroupBody(state)
    return repeatableAtom(EMPTY_NODE)
  }
  const condition = parseCondition(state)
  const [yes = EMPTY_NODE, no = EMPTY_NODE, ...more] = state.parseBranches()
  requireGroupEnd(state)
  if (more.length > 0) throw new PatternError('A conditional group has more than two branches')
  const opposite = removeCaptures({ ...condition, negated: !condition.negated })
  const branches = [sequenceOf([condition, yes]), sequenceOf([opposite, no])]
  return repeatableAtom({ type: 'alternation', branches, isCondition: true })
}

type Condition = Extract<Node, { readonly type: 'look-around' | 'group-test' | 'recursion-test' }>

function parseCondition(state: ParserState): Condition {
  const { scanner, groups } = state
  const group = scanner.consumeMatch(/(?:([-+]?\d+)|<([^>]*)>|'([^']*)'|((?!R\d*\)|R&)[A-Za-z_]\w*))\)/y)
  if (group !== undefined) {
    const index = groups.resolve(group.slice(1).find((name) => name !== undefined) ?? '')
    return { type: 'group-test', index, negated: false }
  }
  const condition = scanner.consumeMatch(/(?=\?<?[=!]|\*[a-z_]+:)/y) && parseGroup(state).node
  if (condition?.type === 'look-around') {
    if (someNode(condition, ({ type }) => type === 'verb'))
      throw new PatternError('Verbs in a condition are not supported')
    return condition
  }
  const recursion = scanner.consumeMatch(/R(?:(\d+)|&([^)]*))?\)/y)
  if (recursion === undefined)
    throw new PatternError('The condition of a conditional group is not recognized')
  const called = recursion[1] ?? recursion[2]
  const index = called === undefined ? undefined : groups.resolve(called)
  return { type: 'recursion-test', called: index, negated: false }
}

/**
 * Parses a back-reference or subroutine call that starts with a backslash, after the backslash: `\1`,
 * `\g{-1}`, `\k<n>`, `\g<n>`.
 */
function parseReference(state: ParserState): Atom {
  const { scanner } = state
  const called = scanner.consumeMatch(/g(?:<([^>]*)>|'([^']*)')/y)
  if (called !== undefined) return subroutineCall(state, called[1] ?? called[2] ?? '')
  const named = scanner.consumeMatch(/k(?:<([^>]*)>|'([^']*)'|\{([^}]*)\})|g(?:\{([^}]*)\}|([-+]?\d+))/y)
  if (named !== undefined)
    return backReference(state, named.slice(1).find((name) => name !== undefined) ?? '')
  const number = scanner.consumeMatch(/(?=(\d{1,5}))/y)?.[1]
  if (number === undefined)
    throw new PatternError(`\\${String.fromCodePoint(scanner.consumeCodePoint())} is not supported`)
  // A number from 10 on that exceeds the groups opened so far is an octal character code.
  if (Number(number) >= 10 && /^[1-7]/.test(number) && Number(number) > state.groups.count)
    return literalAtom(parseOctal(scanner) ?? 0, state.options)
  scanner.consume(number)
  return backReference(state, number)
}

function backReference({ groups, options }: ParserState, group: string): Atom {
  return repeatableAtom({ type: 'back-reference', index: groups.resolve(group), caseless: options.caseless })
}

function subroutineCall({ groups }: ParserState, group: string): Atom {
  if (/^(?:R|[-+]?0)$/.test(group)) return repeatableAtom({ type: 'subroutine-call', index: 0 })
  return repeatableAtom({ type: 'subroutine-call', index: groups.resolve(group) })
}

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
