import type { CodePointRange, Node, SetItem } from './ast.ts'
import { characterSet } from './ast.ts'
import { addCaseVariants } from './case-folding.ts'
import { posixSet, propertySet, shorthandSet } from './character-sets.ts'
import { PatternError } from './pattern-error.ts'
import { singleCodePoint } from './ranges.ts'
import type { Scanner } from './scanner.ts'

/** What the modifiers say about classes. */
interface ClassOptions {
  readonly caseless: boolean
  readonly unicode: boolean
  /** `xx`: spaces and tabs are ignored. */
  readonly extendedClasses: boolean
}

/** Reads a class up to its `]`, the `[` being read already. */
export function parseCharacterClass(scanner: Scanner, mode: ClassOptions): Node {
  const negated = scanner.consume('^')
  const written: CodePointRange[] = []
  const named: SetItem[] = []
  const reader = new ClassMemberParser(scanner, mode)
  for (let first = true; ; first = false) {
    const member = reader.parseMember(first)
    if (member === ']') break
    if (typeof member !== 'number') {
      if (reader.consumeDash()) throw new PatternError('a class is no end of a range')
      named.push(...member)
      continue
    }
    written.push(parseRange(member, reader))
  }
  return characterSet([...(mode.caseless ? addCaseVariants(written) : written), ...named], negated)
}

function parseRange(from: number, reader: ClassMemberParser): CodePointRange {
  if (!reader.consumeDash()) return singleCodePoint(from)
  const to = reader.parseMember(true)
  if (typeof to !== 'number') throw new PatternError('a class is no end of a range')
  if (to < from) throw new PatternError('a range in a class is out of order')
  return { from, to }
}

/** A code point, a set, or the closing bracket. */
type ClassMember = number | readonly SetItem[] | ']'

class ClassMemberParser {
  readonly scanner: Scanner
  readonly options: ClassOptions
  private isQuoting = false

  constructor(scanner: Scanner, mode: ClassOptions) {
    this.scanner = scanner
    this.options = mode
  }

  /** The next member; a `]` that comes `first` is literal. */
  parseMember(first: boolean): ClassMember {
    this.skipIgnored()
    const { scanner } = this
    if (scanner.isAtEnd) throw new PatternError('a class misses its ]')
    if (this.isQuoting) return scanner.consumeCodePoint()
    if (!first && scanner.consume(']')) return ']'
    if (scanner.consume('\\')) return this.parseEscape()
    const posix = scanner.consumeMatch(/\[([:.=])(\^?)([a-z<>]*)\1\]/y)
    if (posix === undefined) return scanner.consumeCodePoint()
    const [, kind, caret, name = ''] = posix
    if (kind !== ':') throw new PatternError('POSIX collating elements are not supported')
    return posixSet(name, caret !== '', this.options)
  }

  /** Steps over a dash that makes a range, which one before the closing bracket does not. */
  consumeDash(): boolean {
    this.skipIgnored()
    return !this.isQuoting && this.scanner.consumeMatch(/-(?!(?:\\E)*\])/y) !== undefined
  }

  private skipIgnored(): void {
    for (;;) {
      if (this.scanner.consume('\\E')) this.isQuoting = false
      else if (this.isQuoting) return
      else if (this.scanner.consume('\\Q')) this.isQuoting = true
      else if (!this.options.extendedClasses || this.scanner.consumeMatch(/[ \t]/y) === undefined) return
    }
  }

  private parseEscape(): ClassMember {
    const { scanner, options: mode } = this
    if (scanner.consume('b')) return 8
    const shorthand = scanner.consumeMatch(/[dDhHsSvVwW]/y)
    if (shorthand !== undefined) return shorthandSet(shorthand[0], mode.unicode)
    const property = scanner.consumeMatch(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
    if (property !== undefined) return propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')
    const code = parseCharacterEscape(scanner) ?? parseOctal(scanner)
    if (code !== undefined) return code
    if (scanner.consumeMatch(/[89]/y) !== undefined) return this.scanner.text.charCodeAt(scanner.position - 1)
    throw new PatternError(`\\${String.fromCodePoint(scanner.consumeCodePoint())} has no meaning in a class`)
  }
}

const CONTROL_LETTERS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }

/**
 * Reads an escape that stands for one character, the backslash being read already: `\n`, `\x41`, `\x{1F600}`, `\o{101}`,
 * `\cA`, `\0`, `\N{U+41}`, and any escaped character that is no ASCII letter or digit.
 */
export function parseCharacterEscape(scanner: Scanner): number | undefined {
  if (scanner.isAtEnd) throw new PatternError('it ends with a backslash')
  const letter = scanner.consumeMatch(/[aefnrt]/y)
  if (letter !== undefined) return CONTROL_LETTERS[letter[0]]
  if (scanner.isNext('x') || scanner.isNext('o') || scanner.isNext('N{U+')) return parseCodePoint(scanner)
  if (scanner.consume('c')) return parseControl(scanner)
  const octal = scanner.consumeMatch(/0[0-7]{0,2}/y)
  if (octal !== undefined) return Number.parseInt(octal[0], 8)
  return scanner.consumeMatch(/(?=[A-Za-z0-9])/y) === undefined ? scanner.consumeCodePoint() : undefined
}

/** Reads up to three octal digits where they are no reference. */
export function parseOctal(scanner: Scanner): number | undefined {
  const digits = scanner.consumeMatch(/[0-7]{1,3}/y)
  return digits && Number.parseInt(digits[0], 8)
}

function parseCodePoint(scanner: Scanner): number {
  const braced = scanner.consumeMatch(/x\{([0-9A-Fa-f]+)\}|N\{U\+([0-9A-Fa-f]+)\}|o\{([0-7]+)\}/y)
  const [, hex, name, octal] = braced ?? []
  if (octal !== undefined) return checkCodePoint(Number.parseInt(octal, 8))
  if (hex !== undefined || name !== undefined) return checkCodePoint(Number.parseInt(hex ?? name ?? '', 16))
  if (!scanner.isNext('x') || scanner.isNext('x{')) throw new PatternError('a character code is malformed')
  return Number.parseInt(`0${scanner.consumeMatch(/x([0-9A-Fa-f]{0,2})/y)?.[1] ?? ''}`, 16)
}

function checkCodePoint(code: number): number {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new PatternError(`${code.toString(16)} is no Unicode character`)
  return code
}

function parseControl(scanner: Scanner): number {
  const key = scanner.consumeMatch(/[ -~]/y)?.[0]
  if (key === undefined) throw new PatternError('\\c needs a printable ASCII character')
  return key.toUpperCase().charCodeAt(0) ^ 0x40
}
