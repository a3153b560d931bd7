import { type CodePointRange, characterSet, type Node, type SetItem } from './ast.ts'
import { addCaseVariants } from './case-folding.ts'
import { posixSet, propertySet, shorthandSet, singleCodePoint } from './character-sets.ts'
import type { Scanner } from './parser-state.ts'
import { PatternError } from './pattern.ts'

/** The options and modes that affect character classes. */
interface ClassOptions {
  readonly caseless: boolean
  readonly unicode: boolean
  /** `xx`: spaces and tabs are ignored. */
  readonly extendedClasses: boolean
}

/** Parses a character class, after its `[` and including its `]`. Throws a `PatternError`. */
export function parseCharacterClass(scanner: Scanner, options: ClassOptions): Node {
  const negated = scanner.consume('^')
  const ranges: CodePointRange[] = []
  const sets: SetItem[] = []
  const parser = new ClassMemberParser(scanner, options)
  for (let isFirst = true; ; isFirst = false) {
    const member = parser.parseMember(isFirst)
    if (member === ']') break
    if (typeof member === 'number') {
      ranges.push(parseRange(member, parser))
    } else {
      if (parser.consumeDash()) throw invalidRangeError()
      sets.push(...member)
    }
  }
  return characterSet([...(options.caseless ? addCaseVariants(ranges) : ranges), ...sets], negated)
}

/** Parses the rest of a range; without a dash, the range is the single code point `from`. */
function parseRange(from: number, parser: ClassMemberParser): CodePointRange {
  if (!parser.consumeDash()) return singleCodePoint(from)
  const to = parser.parseMember(true)
  if (typeof to !== 'number') throw invalidRangeError()
  if (to < from) throw new PatternError('A range in a character class is out of order')
  return { from, to }
}

function invalidRangeError(): PatternError {
  return new PatternError('A range in a character class must have a single character at each end')
}

/** A code point, a set such as `\d`, or the closing bracket. */
type ClassMember = number | readonly SetItem[] | ']'

class ClassMemberParser {
  readonly scanner: Scanner
  readonly options: ClassOptions
  private isQuoting = false

  constructor(scanner: Scanner, options: ClassOptions) {
    this.scanner = scanner
    this.options = options
  }

  /** Parses the next member. A `]` is literal if it is the first member. */
  parseMember(isFirst: boolean): ClassMember {
    this.skipIgnored()
    const { scanner } = this
    if (scanner.isAtEnd) throw new PatternError('A character class has no closing bracket')
    if (this.isQuoting) return scanner.consumeCodePoint()
    if (!isFirst && scanner.consume(']')) return ']'
    if (scanner.consume('\\')) return this.parseEscape()
    const posix = scanner.consumeMatch(/\[([:.=])(\^?)([a-z<>]*)\1\]/y)
    if (posix === undefined) return scanner.consumeCodePoint()
    const [, kind, caret, name = ''] = posix
    if (kind !== ':') throw new PatternError('POSIX collating elements are not supported')
    return posixSet(name, caret !== '', this.options)
  }

  /** Consumes a dash that makes a range. A dash before the closing bracket is literal. */
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
    const { scanner, options } = this
    if (scanner.consume('b')) return BACKSPACE
    const shorthand = scanner.consumeMatch(/[dDhHsSvVwW]/y)
    if (shorthand !== undefined) return shorthandSet(shorthand[0], options.unicode)
    const property = scanner.consumeMatch(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
    if (property !== undefined) return propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')
    const code = parseCharacterEscape(scanner) ?? parseOctal(scanner)
    if (code !== undefined) return code
    if (scanner.consumeMatch(/[89]/y) !== undefined) return scanner.text.charCodeAt(scanner.position - 1)
    const letter = String.fromCodePoint(scanner.consumeCodePoint())
    throw new PatternError(`\\${letter} is not supported in a character class`)
  }
}

const BACKSPACE = 8

/**
 * Parses an escape for a single character, after its backslash: `\n`, `\x41`, `\x{1F600}`, `\o{101}`, `\cA`,
 * `\0`, `\N{U+41}`, or any escaped character that is not an ASCII letter or digit. Returns undefined for
 * other escapes. Throws a `PatternError` if the escape is malformed.
 */
export function parseCharacterEscape(scanner: Scanner): number | undefined {
  if (scanner.isAtEnd) throw new PatternError('The pattern ends with a backslash')
  const letter = scanner.consumeMatch(/[aefnrt]/y)
  if (letter !== undefined) return CONTROL_CHARACTERS[letter[0]]
  if (scanner.isNext('x') || scanner.isNext('o') || scanner.isNext('N{U+')) return parseCodePoint(scanner)
  if (scanner.consume('c')) return parseControlCharacter(scanner)
  const octal = scanner.consumeMatch(/0[0-7]{0,2}/y)
  if (octal !== undefined) return Number.parseInt(octal[0], 8)
  return scanner.consumeMatch(/(?=[A-Za-z0-9])/y) === undefined ? scanner.consumeCodePoint() : undefined
}

const CONTROL_CHARACTERS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }

/** Parses up to three octal digits. The caller has ruled out a back-reference. */
export function parseOctal(scanner: Scanner): number | undefined {
  const digits = scanner.consumeMatch(/[0-7]{1,3}/y)
  return digits && Number.parseInt(digits[0], 8)
}

function parseCodePoint(scanner: Scanner): number {
  const braced = scanner.consumeMatch(/x\{([0-9A-Fa-f]+)\}|N\{U\+([0-9A-Fa-f]+)\}|o\{([0-7]+)\}/y)
  const [, hex, name, octal] = braced ?? []
  if (octal !== undefined) return checkCodePoint(Number.parseInt(octal, 8))
  if (hex !== undefined || name !== undefined) return checkCodePoint(Number.parseInt(hex ?? name ?? '', 16))
  if (!scanner.isNext('x') || scanner.isNext('x{')) throw new PatternError('A character code is malformed')
  return Number.parseInt(`0${scanner.consumeMatch(/x([0-9A-Fa-f]{0,2})/y)?.[1] ?? ''}`, 16)
}

function checkCodePoint(code: number): number {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new PatternError(`\\x{${code.toString(16)}} is not a Unicode character`)
  return code
}

function parseControlCharacter(scanner: Scanner): number {
  const key = scanner.consumeMatch(/[ -~]/y)?.[0]
  if (key === undefined) throw new PatternError('\\c must be followed by a printable ASCII character')
  return key.toUpperCase().charCodeAt(0) ^ 0x40
}
