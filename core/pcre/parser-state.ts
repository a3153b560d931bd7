import type { AssertionKind, Node } from './ast.ts'
import { caselessCharacter } from './case-folding.ts'
import { PatternError } from './pattern.ts'

const MAX_CAPTURING_GROUPS = 250
const MAX_NAME_LENGTH = 32

/**
 * Numbers and names the capturing groups of a pattern while it is parsed. A pattern with references is parsed
 * twice, because a reference may precede its group.
 */
export class CaptureGroups {
  /** The number of the group opened last; a branch reset sets it back. */
  count = 0
  highestIndex = 0
  /** Whether `resolve` was called, so that a second pass is needed. */
  hasReferences = false
  private openedCount = 0
  private readonly names = new Map<string, Set<number>>()
  private readonly firstPass: CaptureGroups | undefined

  /** `firstPass` holds the groups found by the first pass; it is undefined during the first pass itself. */
  constructor(firstPass?: CaptureGroups) {
    this.firstPass = firstPass
  }

  /** Returns the number of the next group and registers its name. Throws a `PatternError`. */
  open(name: string | undefined, duplicatesAllowed: boolean): number {
    this.openedCount += 1
    if (this.openedCount > MAX_CAPTURING_GROUPS)
      throw new PatternError(`The pattern has more than ${MAX_CAPTURING_GROUPS} capturing groups`)
    this.count += 1
    this.highestIndex = Math.max(this.highestIndex, this.count)
    if (name !== undefined) this.addName(name, duplicatesAllowed)
    return this.count
  }

  private addName(name: string, duplicatesAllowed: boolean): void {
    if (name.length > MAX_NAME_LENGTH)
      throw new PatternError(`A group name is longer than ${MAX_NAME_LENGTH} characters`)
    const indexes = this.names.get(name) ?? new Set()
    if (indexes.size > 0 && !indexes.has(this.count) && !duplicatesAllowed)
      throw new PatternError(`Two groups are named ${name}`)
    this.names.set(name, indexes.add(this.count))
  }

  /**
   * Returns the number of the group that a reference means: `3`, `-1` (the group opened last), `+1` (the next
   * one) or a name. Returns 0 during the first pass. Throws a `PatternError` if there is no such group.
   */
  resolve(reference: string): number {
    this.hasReferences = true
    if (this.firstPass === undefined) return 0
    const isNumber = /^[-+]?\d+$/.test(reference)
    const index = isNumber ? this.resolveNumber(reference) : this.firstPass.resolveName(reference)
    if (index < 1 || index > this.firstPass.highestIndex)
      throw new PatternError(`Group ${reference} does not exist`)
    return index
  }

  private resolveNumber(reference: string): number {
    const number = Number(reference)
    if (reference.startsWith('-')) return this.count + 1 + number
    return reference.startsWith('+') ? this.count + number : number
  }

  private resolveName(name: string): number {
    const [index = 0, ...others] = this.names.get(name) ?? []
    if (others.length > 0)
      throw new PatternError(`References to ${name} are not supported because several groups have this name`)
    return index
  }
}

/** Splits a pattern into its body and modifiers. A pattern without delimiters is read as `/…/i`. */
export function parseDelimiters(pattern: string): DelimitedPattern {
  const [, , body, modifiers] = pattern.match(DELIMITED) ?? []
  if (body !== undefined && modifiers !== undefined) return { body, modifiers }
  return parseBrackets(pattern) ?? { body: pattern, modifiers: 'i' }
}

interface DelimitedPattern {
  readonly body: string
  readonly modifiers: string
}

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s

const CLOSING_BRACKETS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '<': '>' }

/**
 * A pair of brackets delimits a pattern only if modifiers follow it: `(foo)` is a plain pattern, and so is
 * `(?i)A`, whose content would not be a pattern.
 */
function parseBrackets(pattern: string): DelimitedPattern | undefined {
  const opening = pattern.charAt(0)
  const closing = CLOSING_BRACKETS[opening]
  const [, modifiers] = pattern.match(/[)\]}>]([imsxuADUXJ]+)$/) ?? []
  if (closing === undefined || modifiers === undefined || /^\([?*+]/.test(pattern)) return undefined
  const end = pattern.length - modifiers.length - 1
  let depth = 0
  for (let index = 0; index <= end; index++) {
    const character = pattern.charAt(index)
    if (character === '\\') index += 1
    else if (character === opening) depth += 1
    else if (character === closing) depth -= 1
    if (depth === 0) return index === end ? { body: pattern.slice(1, end), modifiers } : undefined
  }
  return undefined
}

/** Options that inline flags such as `(?i)` can change within a pattern. */
export interface PatternOptions {
  readonly caseless: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  /** `xx`: spaces and tabs in character classes are ignored, too. */
  readonly extendedClasses: boolean
  readonly ungreedy: boolean
  readonly duplicateNames: boolean
  /** `n`: plain parentheses do not capture. */
  readonly namedCapturesOnly: boolean
}

/** Modes that apply to a whole pattern. */
export interface PatternModes {
  /** `u`: `\w`, `\d`, `\s`, `\b` and POSIX classes cover all of Unicode, as in PHP. */
  readonly unicode: boolean
  /** `D`: `$` matches only at the very end of the text. */
  readonly dollarEndOnly: boolean
  /** `A`: a match must start where the search starts. */
  readonly anchored: boolean
}

/** Parses the modifiers after the closing delimiter. `X` has no effect, as in current PHP. */
export function parseModifiers(modifiers: string): {
  readonly options: PatternOptions
  readonly modes: PatternModes
} {
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
      namedCapturesOnly: false,
    },
    modes: { unicode: has('u'), dollarEndOnly: has('D'), anchored: has('A') },
  }
}

/** Applies inline flags such as `i`, `im-s` or `^x`; `^` first clears `imnsx`. Throws a `PatternError`. */
export function applyInlineFlags(flags: string, options: PatternOptions): PatternOptions {
  const [, reset = '', on = '', off = ''] = flags.match(/^(\^?)([imsxnUJ]*)(?:-([imsxnUJ]*))?$/) ?? []
  if (reset + on + off !== flags.replace('-', '') || (reset !== '' && flags.includes('-')))
    throw new PatternError(`(?${flags}) is not a valid list of flags`)
  const cleared = reset === '' ? options : setFlags('imnsx', options, false)
  return setFlags(off, setFlags(on, cleared, true), false)
}

function setFlags(flags: string, options: PatternOptions, isOn: boolean): PatternOptions {
  const value = (flag: string, current: boolean) => (flags.includes(flag) ? isOn : current)
  return {
    caseless: value('i', options.caseless),
    multiline: value('m', options.multiline),
    dotAll: value('s', options.dotAll),
    extended: value('x', options.extended),
    extendedClasses: flags.includes('x') ? isOn && flags.includes('xx') : options.extendedClasses,
    ungreedy: value('U', options.ungreedy),
    duplicateNames: value('J', options.duplicateNames),
    namedCapturesOnly: value('n', options.namedCapturesOnly),
  }
}

/** A cursor over the source text of a pattern. */
export class Scanner {
  readonly text: string
  position = 0

  constructor(text: string) {
    this.text = text
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length
  }

  isNext(expected: string): boolean {
    return this.text.startsWith(expected, this.position)
  }

  /** Consumes `expected` if it comes next; returns whether it did. */
  consume(expected: string): boolean {
    const isFound = this.isNext(expected)
    if (isFound) this.position += expected.length
    return isFound
  }

  /** Consumes a match of the sticky expression at the current position; undefined if it does not match. */
  consumeMatch(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.position
    const match = expression.exec(this.text)
    if (match === null) return undefined
    this.position = expression.lastIndex
    return match
  }

  /** Consumes one code point. Must not be called at the end of the text. */
  consumeCodePoint(): number {
    const code = this.text.codePointAt(this.position) ?? 0
    this.position += code > 0xffff ? 2 : 1
    return code
  }
}

/** The state of one parse, shared by the parse functions. */
export interface ParserState {
  readonly scanner: Scanner
  readonly groups: CaptureGroups
  readonly modes: PatternModes
  /** The options at the current position, with inline flags applied. */
  options: PatternOptions
  /** Whether the position is between `\Q` and `\E`. */
  isQuoting: boolean
  /** The bodies of the capturing groups by number, for subroutine calls such as `(?1)`. */
  readonly groupBodies: Map<number, Node>
  /**
   * Parses up to a closing parenthesis or the end of the pattern. With `isBranchReset`, every branch numbers
   * its groups from the same start.
   */
  readonly parseAlternation: (isBranchReset?: boolean) => Node
  /** Like `parseAlternation`, as a list. */
  readonly parseBranches: (isBranchReset?: boolean) => readonly Node[]
}

/** A parsed item. Only a repeatable one may have a quantifier: `\b*` is an error in PCRE. */
export interface Atom {
  readonly node: Node
  readonly isRepeatable: boolean
}

export function repeatableAtom(node: Node): Atom {
  return { node, isRepeatable: true }
}

export function assertionAtom(kind: AssertionKind): Atom {
  return { node: { type: 'assertion', kind }, isRepeatable: false }
}

/** A literal character, or the set of its case variants if `caseless`. */
export function literalAtom(code: number, { caseless }: { readonly caseless: boolean }): Atom {
  return repeatableAtom(caseless ? caselessCharacter(code) : { type: 'character', code })
}

/** Skips comments, callouts, `\Q` and `\E`, and in extended mode white space. Throws a `PatternError`. */
export function skipIgnored(state: ParserState): void {
  const { scanner } = state
  for (;;) {
    if (scanner.consume('\\E')) state.isQuoting = false
    else if (state.isQuoting) return
    else if (scanner.consume('\\Q')) state.isQuoting = true
    else if (state.options.extended && scanner.consumeMatch(WHITE_SPACE) !== undefined) continue
    else if (!scanner.isNext('(?')) return
    else if (scanner.consume('(?#')) {
      if (scanner.consumeMatch(/[^)]*\)/y) === undefined)
        throw new PatternError('A comment has no closing parenthesis')
    } else if (scanner.consumeMatch(CALLOUT) === undefined) return
  }
}

const WHITE_SPACE = /[\t-\r \u0085\u200e\u200f\u2028\u2029]+|#[^\n]*\n?/y

const CALLOUT = /\(\?C(?:1?\d?\d|2[0-4]\d|25[0-5])?\)/y
