import { alternationOf, EMPTY_NODE, type LookAround, type Node, removeCaptures, sequenceOf } from './ast.ts'
import { applyInlineFlags } from './modifiers.ts'
import { parseOctal } from './parse-class.ts'
import { type Atom, literalAtom, type ParserState, repeatableAtom } from './parser-state.ts'
import { PatternError } from './pattern-error.ts'

/** Reads what follows an opening parenthesis, up to the closing one. */
export function parseGroup(reader: ParserState): Atom {
  const { scanner } = reader
  const spelled = scanner.consumeMatch(/\*([a-z_]+):/y)?.[1]
  if (spelled !== undefined) return parseSpecialGroup(reader, ALPHABETIC_SPELLINGS[spelled] ?? `*${spelled}:`)
  if (scanner.isNext('*')) throw new PatternError('verbs such as (*SKIP) cannot be evaluated')
  if (!scanner.consume('?')) return parseCapture(reader, undefined)
  const name = scanner.consumeMatch(/P?<([\p{L}_][\p{L}\p{N}_]*)>|'([\p{L}_][\p{L}\p{N}_]*)'/uy)
  if (name !== undefined) return parseCapture(reader, name[1] ?? name[2])
  const back = scanner.consumeMatch(/P=([^)]*)\)/y)
  if (back !== undefined) return backReference(reader, back[1] ?? '')
  const called = scanner.consumeMatch(/(?:P>|&)([^)]*)\)|(R|[-+]?\d+)\)/y)
  if (called !== undefined) return subroutineCall(reader, called[1] ?? called[2] ?? '')
  if (scanner.consume('(')) return parseConditional(reader)
  const flags = scanner.consumeMatch(/(\^?[imsxnUJ]*(?:-[imsxnUJ]*)?)([:)])/y)
  if (flags !== undefined) return parseInlineFlags(reader, flags[1] ?? '', flags[2] === ':')
  const kind = scanner.consumeMatch(/[=!>|]|<[=!]/y)?.[0]
  if (kind === undefined) throw new PatternError('a group starts with (? and goes on in an unknown way')
  return parseSpecialGroup(reader, `?${kind}`)
}

const LOOK_AROUNDS: Readonly<Record<string, Pick<LookAround, 'behind' | 'negated'>>> = {
  '?=': { behind: false, negated: false },
  '?!': { behind: false, negated: true },
  '?<=': { behind: true, negated: false },
  '?<!': { behind: true, negated: true },
}

/** The alphabetic spellings, as in `(*pla:…)`. */
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

function parseCapture(reader: ParserState, name: string | undefined): Atom {
  if (name === undefined && reader.options.namedCapturesOnly) return repeatableAtom(parseGroupBody(reader))
  const index = reader.groups.open(name, reader.options.duplicateNames)
  const body = parseGroupBody(reader)
  if (!reader.groupBodies.has(index)) reader.groupBodies.set(index, body)
  return repeatableAtom({ type: 'capture', index, body })
}

/** Flags without a colon hold up to the end of the group they stand in, which restores what was before. */
function parseInlineFlags(reader: ParserState, flags: string, isScoped: boolean): Atom {
  const outer = reader.options
  reader.options = applyInlineFlags(flags, outer)
  if (!isScoped) return { node: EMPTY_NODE, isRepeatable: false }
  const body = parseGroupBody(reader)
  reader.options = outer
  return repeatableAtom(body)
}

function parseSpecialGroup(reader: ParserState, kind: string): Atom {
  const look = LOOK_AROUNDS[kind]
  if (look !== undefined)
    return repeatableAtom({ type: 'look-around', ...look, body: parseGroupBody(reader) })
  if (kind === '?>') return repeatableAtom({ type: 'atomic', body: parseGroupBody(reader) })
  if (kind === '?|') return repeatableAtom(parseGroupBody(reader, true))
  throw new PatternError(`(${kind} cannot be evaluated`)
}

function parseGroupBody(reader: ParserState, reset = false): Node {
  const body = reader.parseAlternation(reset)
  if (!reader.scanner.consume(')')) throw new PatternError('a group misses its )')
  return body
}

/** `(?(DEFINE)…)` only defines groups; `(?(?=a)b|c)` reads as `(?=a)b|(?!a)c`; other conditions are out of reach. */
function parseConditional(reader: ParserState): Atom {
  if (reader.scanner.consume('DEFINE)')) {
    parseGroupBody(reader)
    return repeatableAtom(EMPTY_NODE)
  }
  const look = reader.scanner.consumeMatch(/(?=\?<?[=!]|\*[a-z_]+:)/y) && parseGroup(reader).node
  if (look?.type !== 'look-around') throw new PatternError('conditions on groups cannot be evaluated')
  const body = parseGroupBody(reader)
  const [yes = EMPTY_NODE, no = EMPTY_NODE, ...more] = body.type === 'alternation' ? body.branches : [body]
  if (more.length > 0) throw new PatternError('a condition has more than two branches')
  const otherwise = removeCaptures({ ...look, negated: !look.negated })
  return repeatableAtom(alternationOf([sequenceOf([look, yes]), sequenceOf([otherwise, no])]))
}

/** Reads a back-reference or a call that starts with a backslash, which is read already: `\1`, `\g{-1}`, `\k<n>`, `\g<n>`. */
export function parseReference(reader: ParserState): Atom {
  const { scanner } = reader
  const called = scanner.consumeMatch(/g(?:<([^>]*)>|'([^']*)')/y)
  if (called !== undefined) return subroutineCall(reader, called[1] ?? called[2] ?? '')
  const named = scanner.consumeMatch(/k(?:<([^>]*)>|'([^']*)'|\{([^}]*)\})|g(?:\{([^}]*)\}|([-+]?\d+))/y)
  if (named !== undefined)
    return backReference(reader, named.slice(1).find((name) => name !== undefined) ?? '')
  const number = scanner.consumeMatch(/(?=(\d{1,5}))/y)?.[1]
  if (number === undefined) {
    throw new PatternError(`\\${String.fromCodePoint(scanner.consumeCodePoint())} cannot be evaluated`)
  }
  // What is no number of a group so far is an octal code.
  if (Number(number) >= 10 && /^[1-7]/.test(number) && Number(number) > reader.groups.count)
    return literalAtom(parseOctal(scanner) ?? 0, reader.options)
  scanner.consume(number)
  return backReference(reader, number)
}

/** A back-reference to the group of that number or name. */
function backReference({ groups, options }: ParserState, name: string): Atom {
  return repeatableAtom({ type: 'back-reference', index: groups.resolve(name), caseless: options.caseless })
}

/** A call of the group of that number or name. */
function subroutineCall({ groups }: ParserState, name: string): Atom {
  if (/^(?:R|[-+]?0)$/.test(name)) throw new PatternError('recursion cannot be evaluated')
  return repeatableAtom({ type: 'subroutine-call', index: groups.resolve(name) })
}
