import type { AssertionKind, Node } from './ast.ts'
import { PatternFault } from './limits.ts'

/** Reads a pattern from left to right. */
export class Scanner {
  readonly text: string
  position = 0

  constructor(text: string) {
    this.text = text
  }

  get atEnd(): boolean {
    return this.position >= this.text.length
  }

  /** Whether the text goes on with `expected`. */
  sees(expected: string): boolean {
    return this.text.startsWith(expected, this.position)
  }

  /** Steps over `expected` if the text goes on with it. */
  take(expected: string): boolean {
    const found = this.sees(expected)
    if (found) this.position += expected.length
    return found
  }

  /** Steps over what the sticky expression matches here. */
  match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.position
    const match = expression.exec(this.text)
    if (match === null) return undefined
    this.position = expression.lastIndex
    return match
  }

  /** Steps over one code point; not to be called at the end. */
  next(): number {
    const code = this.text.codePointAt(this.position) ?? 0
    this.position += code > 0xffff ? 2 : 1
    return code
  }
}

/** A pattern while it is read: what all the readers of its parts share. */
export interface Reader {
  readonly scanner: Scanner
  readonly groups: Groups
  readonly modes: Modes
  /** What inline flags have made of the modifiers here. */
  options: Options
  /** Between `\Q` and `\E`. */
  quoting: boolean
  /** The bodies of the capturing groups, for calls such as `(?1)`. */
  readonly bodies: Map<number, Node>
  /** Reads up to a closing parenthesis or the end; with `reset`, every branch numbers its groups from the same start. */
  readonly readChoice: (reset?: boolean) => Node
}

/** Something that has been read, and whether a quantifier may follow; `\b*` is an error in PCRE. */
export interface Atom {
  readonly node: Node
  readonly repeatable: boolean
}

/** An atom that a quantifier may follow. */
export function repeatable(node: Node): Atom {
  return { node, repeatable: true }
}

/** An assertion, which no quantifier may follow. */
export function assertion(kind: AssertionKind): Atom {
  return { node: { type: 'assertion', kind }, repeatable: false }
}

/** What inline flags can switch within a pattern. */
export interface Options {
  readonly caseless: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  /** `xx`: spaces and tabs in classes are ignored, too. */
  readonly extendedClasses: boolean
  readonly ungreedy: boolean
  readonly duplicateNames: boolean
  /** `n`: plain parentheses do not capture. */
  readonly namedOnly: boolean
}

/** What holds for a whole pattern. */
export interface Modes {
  /** `u`: `\w`, `\d`, `\s`, `\b` and POSIX classes know all of Unicode, as in PHP. */
  readonly unicode: boolean
  /** `D`: `$` matches at the very end only. */
  readonly dollarAtEnd: boolean
  /** `A`: a match begins where the search begins. */
  readonly anchored: boolean
}

/** What the modifiers behind a pattern switch on; `X` changes nothing in today's PHP. */
export function readModifiers(modifiers: string): { readonly options: Options; readonly modes: Modes } {
  const has = (modifier: string) => modifiers.includes(modifier)
  return {
    options: {
      caseless: has('i'),
      multiline: has('m'),
      dotAll: has('s'),
      extended: has('x'),
      extendedClasses: false,
      ungreedy: has('U'),
      duplicateNames: has('J'),
      namedOnly: false,
    },
    modes: { unicode: has('u'), dollarAtEnd: has('D'), anchored: has('A') },
  }
}

/** The options after inline flags such as `i`, `im-s`, `^x` (which first clears `imnsx`). */
export function applyFlags(flags: string, options: Options): Options {
  const [, reset = '', on = '', off = ''] = flags.match(/^(\^?)([imsxnUJ]*)(?:-([imsxnUJ]*))?$/) ?? []
  if (reset + on + off !== flags.replace('-', '') || (reset !== '' && flags.includes('-')))
    throw new PatternFault(`(?${flags}) is not a list of flags`)
  const cleared = reset === '' ? options : switchFlags('imnsx', options, false)
  return switchFlags(off, switchFlags(on, cleared, true), false)
}

function switchFlags(flags: string, options: Options, on: boolean): Options {
  const value = (flag: string, before: boolean) => (flags.includes(flag) ? on : before)
  return {
    caseless: value('i', options.caseless),
    multiline: value('m', options.multiline),
    dotAll: value('s', options.dotAll),
    extended: value('x', options.extended),
    extendedClasses: flags.includes('x') ? on && flags.includes('xx') : options.extendedClasses,
    ungreedy: value('U', options.ungreedy),
    duplicateNames: value('J', options.duplicateNames),
    namedOnly: value('n', options.namedOnly),
  }
}

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s

/** The pattern between its delimiters and the modifiers behind them; without delimiters it reads as `/…/i`. */
export function readDelimiters(pattern: string): { readonly body: string; readonly modifiers: string } {
  const [, , body = pattern, modifiers = 'i'] = pattern.match(DELIMITED) ?? []
  return { body, modifiers }
}

/** Steps over comments, callouts, the quoting marks `\Q` and `\E`, and in extended mode over white space. */
export function skipIgnored(reader: Reader): void {
  const { scanner } = reader
  for (;;) {
    if (scanner.take('\\E')) reader.quoting = false
    else if (reader.quoting) return
    else if (scanner.take('\\Q')) reader.quoting = true
    else if (reader.options.extended && scanner.match(WHITE_SPACE) !== undefined) continue
    else if (!scanner.sees('(?')) return
    else if (scanner.take('(?#')) {
      if (scanner.match(/[^)]*\)/y) === undefined) throw new PatternFault('a comment misses its )')
    } else if (scanner.match(/\(\?C(?:1?\d?\d|2[0-4]\d|25[0-5])?\)/y) === undefined) return
  }
}

const WHITE_SPACE = /[\t-\r \u0085\u200e\u200f\u2028\u2029]+|#[^\n]*\n?/y

const MOST_GROUPS = 250

/**
 * The capturing groups of a pattern, counted while it is read. A pattern that refers to groups is read twice, as it may
 * refer ahead.
 */
export class Groups {
  /** How many have been opened so far. */
  count = 0
  highest = 0
  private opened = 0
  /** Whether a reference was looked up. */
  wereAsked = false
  private readonly names = new Map<string, Set<number>>()
  private readonly known: Groups | undefined

  /** `known` is what the first reading found. */
  constructor(known?: Groups) {
    this.known = known
  }

  /** Numbers the next group and remembers its name. */
  open(name: string | undefined, duplicatesAllowed: boolean): number {
    this.opened += 1
    if (this.opened > MOST_GROUPS)
      throw new PatternFault(`it has more than ${MOST_GROUPS} groups that capture`)
    this.count += 1
    this.highest = Math.max(this.highest, this.count)
    if (name !== undefined) this.addName(name, duplicatesAllowed)
    return this.count
  }

  private addName(name: string, duplicatesAllowed: boolean): void {
    if (name.length > 32) throw new PatternFault('a group name is longer than 32 characters')
    const indexes = this.names.get(name) ?? new Set()
    if (indexes.size > 0 && !indexes.has(this.count) && !duplicatesAllowed)
      throw new PatternFault(`two groups are named ${name}`)
    this.names.set(name, indexes.add(this.count))
  }

  /** The number a reference means: `3`, `-1` (the last one opened), `+1` (the next one) or a name. */
  find(reference: string): number {
    this.wereAsked = true
    if (this.known === undefined) return 0
    const index = /^[-+]?\d+$/.test(reference) ? this.findNumber(reference) : this.known.findName(reference)
    if (index < 1 || index > this.known.highest) throw new PatternFault(`there is no group ${reference}`)
    return index
  }

  private findNumber(reference: string): number {
    const number = Number(reference)
    if (reference.startsWith('-')) return this.count + 1 + number
    return reference.startsWith('+') ? this.count + number : number
  }

  private findName(name: string): number {
    const [index = 0, ...others] = this.names.get(name) ?? []
    if (others.length > 0) throw new PatternFault(`more than one group is named ${name}`)
    return index
  }
}
