import {
  EMPTY_NODE,
  type LookAround,
  type Node,
  removeCaptures,
  sequenceOf,
  someNode,
  type Verb,
} from './ast.ts'
import { applyInlineFlags } from './modifiers.ts'
import { parseOctal } from './parse-class.ts'
import { type Atom, literalAtom, type ParserState, repeatableAtom } from './parser-state.ts'
import { PatternError } from './pattern-error.ts'

/** Parses a group, after its opening parenthesis and including the closing one. */
export function parseGroup(state: ParserState): Atom {
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
export function parseReference(state: ParserState): Atom {
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
