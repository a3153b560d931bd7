import { choice, EMPTY, type Look, type Node, sequence, withoutCaptures } from './ast.ts'
import { applyFlags } from './modifiers.ts'
import { readOctal } from './parse-class.ts'
import { type Atom, literal, type Reader, repeatable } from './parser-context.ts'
import { PatternFault } from './pattern-error.ts'

/** Reads what follows an opening parenthesis, up to the closing one. */
export function readGroup(reader: Reader): Atom {
  const { scanner } = reader
  const spelled = scanner.match(/\*([a-z_]+):/y)?.[1]
  if (spelled !== undefined) return readSpecial(reader, SPELLINGS[spelled] ?? `*${spelled}:`)
  if (scanner.sees('*')) throw new PatternFault('verbs such as (*SKIP) cannot be evaluated')
  if (!scanner.take('?')) return readCapture(reader, undefined)
  const name = scanner.match(/P?<([\p{L}_][\p{L}\p{N}_]*)>|'([\p{L}_][\p{L}\p{N}_]*)'/uy)
  if (name !== undefined) return readCapture(reader, name[1] ?? name[2])
  const back = scanner.match(/P=([^)]*)\)/y)
  if (back !== undefined) return reference(reader, back[1] ?? '')
  const called = scanner.match(/(?:P>|&)([^)]*)\)|(R|[-+]?\d+)\)/y)
  if (called !== undefined) return call(reader, called[1] ?? called[2] ?? '')
  if (scanner.take('(')) return readCondition(reader)
  const flags = scanner.match(/(\^?[imsxnUJ]*(?:-[imsxnUJ]*)?)([:)])/y)
  if (flags !== undefined) return readFlags(reader, flags[1] ?? '', flags[2] === ':')
  const kind = scanner.match(/[=!>|]|<[=!]/y)?.[0]
  if (kind === undefined) throw new PatternFault('a group starts with (? and goes on in an unknown way')
  return readSpecial(reader, `?${kind}`)
}

const LOOKS: Readonly<Record<string, Pick<Look, 'behind' | 'negated'>>> = {
  '?=': { behind: false, negated: false },
  '?!': { behind: false, negated: true },
  '?<=': { behind: true, negated: false },
  '?<!': { behind: true, negated: true },
}

/** The alphabetic spellings, as in `(*pla:…)`. */
const SPELLINGS: Readonly<Record<string, string>> = {
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

function readCapture(reader: Reader, name: string | undefined): Atom {
  if (name === undefined && reader.options.namedOnly) return repeatable(readBody(reader))
  const index = reader.groups.open(name, reader.options.duplicateNames)
  const body = readBody(reader)
  if (!reader.bodies.has(index)) reader.bodies.set(index, body)
  return repeatable({ type: 'capture', index, body })
}

/** Flags without a colon hold up to the end of the group they stand in, which restores what was before. */
function readFlags(reader: Reader, flags: string, isScoped: boolean): Atom {
  const outer = reader.options
  reader.options = applyFlags(flags, outer)
  if (!isScoped) return { node: EMPTY, repeatable: false }
  const body = readBody(reader)
  reader.options = outer
  return repeatable(body)
}

function readSpecial(reader: Reader, kind: string): Atom {
  const look = LOOKS[kind]
  if (look !== undefined) return repeatable({ type: 'look', ...look, body: readBody(reader) })
  if (kind === '?>') return repeatable({ type: 'atomic', body: readBody(reader) })
  if (kind === '?|') return repeatable(readBody(reader, true))
  throw new PatternFault(`(${kind} cannot be evaluated`)
}

function readBody(reader: Reader, reset = false): Node {
  const body = reader.readChoice(reset)
  if (!reader.scanner.take(')')) throw new PatternFault('a group misses its )')
  return body
}

/** `(?(DEFINE)…)` only defines groups; `(?(?=a)b|c)` reads as `(?=a)b|(?!a)c`; other conditions are out of reach. */
function readCondition(reader: Reader): Atom {
  if (reader.scanner.take('DEFINE)')) {
    readBody(reader)
    return repeatable(EMPTY)
  }
  const look = reader.scanner.match(/(?=\?<?[=!]|\*[a-z_]+:)/y) && readGroup(reader).node
  if (look?.type !== 'look') throw new PatternFault('conditions on groups cannot be evaluated')
  const body = readBody(reader)
  const [yes = EMPTY, no = EMPTY, ...more] = body.type === 'choice' ? body.branches : [body]
  if (more.length > 0) throw new PatternFault('a condition has more than two branches')
  const otherwise = withoutCaptures({ ...look, negated: !look.negated })
  return repeatable(choice([sequence([look, yes]), sequence([otherwise, no])]))
}

/** Reads a back-reference or a call that starts with a backslash, which is read already: `\1`, `\g{-1}`, `\k<n>`, `\g<n>`. */
export function readReference(reader: Reader): Atom {
  const { scanner } = reader
  const called = scanner.match(/g(?:<([^>]*)>|'([^']*)')/y)
  if (called !== undefined) return call(reader, called[1] ?? called[2] ?? '')
  const named = scanner.match(/k(?:<([^>]*)>|'([^']*)'|\{([^}]*)\})|g(?:\{([^}]*)\}|([-+]?\d+))/y)
  if (named !== undefined) return reference(reader, named.slice(1).find((name) => name !== undefined) ?? '')
  const number = scanner.match(/(?=(\d{1,5}))/y)?.[1]
  if (number === undefined) {
    throw new PatternFault(`\\${String.fromCodePoint(scanner.next())} cannot be evaluated`)
  }
  // What is no number of a group so far is an octal code.
  if (Number(number) >= 10 && /^[1-7]/.test(number) && Number(number) > reader.groups.count)
    return literal(readOctal(scanner) ?? 0, reader.options)
  scanner.take(number)
  return reference(reader, number)
}

/** A back-reference to the group of that number or name. */
function reference({ groups, options }: Reader, name: string): Atom {
  return repeatable({ type: 'reference', index: groups.find(name), caseless: options.caseless })
}

/** A call of the group of that number or name. */
function call({ groups }: Reader, name: string): Atom {
  if (/^(?:R|[-+]?0)$/.test(name)) throw new PatternFault('recursion cannot be evaluated')
  return repeatable({ type: 'call', index: groups.find(name) })
}
