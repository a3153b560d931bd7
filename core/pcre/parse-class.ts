import type { Node, Range, SetItem } from './ast.ts'
import { set } from './ast.ts'
import { closeOverCase } from './case-folding.ts'
import { posixSet, propertySet, shorthandSet } from './character-sets.ts'
import { PatternFault } from './pattern-error.ts'
import { single } from './ranges.ts'
import type { Scanner } from './scanner.ts'

/** What the modifiers say about classes. */
interface ClassMode {
  readonly caseless: boolean
  readonly unicode: boolean
  /** `xx`: spaces and tabs are ignored. */
  readonly extendedClasses: boolean
}

/** Reads a class up to its `]`, the `[` being read already. */
export function readClass(scanner: Scanner, mode: ClassMode): Node {
  const negated = scanner.take('^')
  const written: Range[] = []
  const named: SetItem[] = []
  const reader = new MemberReader(scanner, mode)
  for (let first = true; ; first = false) {
    const member = reader.next(first)
    if (member === ']') break
    if (typeof member !== 'number') {
      if (reader.takeDash()) throw new PatternFault('a class is no end of a range')
      named.push(...member)
      continue
    }
    written.push(readRange(member, reader))
  }
  return set([...(mode.caseless ? closeOverCase(written) : written), ...named], negated)
}

function readRange(from: number, reader: MemberReader): Range {
  if (!reader.takeDash()) return single(from)
  const to = reader.next(true)
  if (typeof to !== 'number') throw new PatternFault('a class is no end of a range')
  if (to < from) throw new PatternFault('a range in a class is out of order')
  return { from, to }
}

/** A code point, a set, or the closing bracket. */
type Member = number | readonly SetItem[] | ']'

class MemberReader {
  readonly scanner: Scanner
  readonly mode: ClassMode
  private quoting = false

  constructor(scanner: Scanner, mode: ClassMode) {
    this.scanner = scanner
    this.mode = mode
  }

  /** The next member; a `]` that comes `first` is literal. */
  next(first: boolean): Member {
    this.skip()
    const { scanner } = this
    if (scanner.atEnd) throw new PatternFault('a class misses its ]')
    if (this.quoting) return scanner.next()
    if (!first && scanner.take(']')) return ']'
    if (scanner.take('\\')) return this.readEscape()
    const posix = scanner.match(/\[([:.=])(\^?)([a-z<>]*)\1\]/y)
    if (posix === undefined) return scanner.next()
    const [, kind, caret, name = ''] = posix
    if (kind !== ':') throw new PatternFault('POSIX collating elements are not supported')
    return posixSet(name, caret !== '', this.mode)
  }

  /** Steps over a dash that makes a range, which one before the closing bracket does not. */
  takeDash(): boolean {
    this.skip()
    return !this.quoting && this.scanner.match(/-(?!(?:\\E)*\])/y) !== undefined
  }

  private skip(): void {
    for (;;) {
      if (this.scanner.take('\\E')) this.quoting = false
      else if (this.quoting) return
      else if (this.scanner.take('\\Q')) this.quoting = true
      else if (!this.mode.extendedClasses || this.scanner.match(/[ \t]/y) === undefined) return
    }
  }

  private readEscape(): Member {
    const { scanner, mode } = this
    if (scanner.take('b')) return 8
    const shorthand = scanner.match(/[dDhHsSvVwW]/y)
    if (shorthand !== undefined) return shorthandSet(shorthand[0], mode.unicode)
    const property = scanner.match(/([pP])(?:\{([^}]*)\}|([a-zA-Z]))/y)
    if (property !== undefined) return propertySet(property[2] ?? property[3] ?? '', property[1] === 'P')
    const code = readCharacterEscape(scanner) ?? readOctal(scanner)
    if (code !== undefined) return code
    if (scanner.match(/[89]/y) !== undefined) return this.scanner.text.charCodeAt(scanner.position - 1)
    throw new PatternFault(`\\${String.fromCodePoint(scanner.next())} has no meaning in a class`)
  }
}

const CONTROL_LETTERS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }

/**
 * Reads an escape that stands for one character, the backslash being read already: `\n`, `\x41`, `\x{1F600}`, `\o{101}`,
 * `\cA`, `\0`, `\N{U+41}`, and any escaped character that is no ASCII letter or digit.
 */
export function readCharacterEscape(scanner: Scanner): number | undefined {
  if (scanner.atEnd) throw new PatternFault('it ends with a backslash')
  const letter = scanner.match(/[aefnrt]/y)
  if (letter !== undefined) return CONTROL_LETTERS[letter[0]]
  if (scanner.sees('x') || scanner.sees('o') || scanner.sees('N{U+')) return readCode(scanner)
  if (scanner.take('c')) return readControl(scanner)
  const octal = scanner.match(/0[0-7]{0,2}/y)
  if (octal !== undefined) return Number.parseInt(octal[0], 8)
  return scanner.match(/(?=[A-Za-z0-9])/y) === undefined ? scanner.next() : undefined
}

/** Reads up to three octal digits where they are no reference. */
export function readOctal(scanner: Scanner): number | undefined {
  const digits = scanner.match(/[0-7]{1,3}/y)
  return digits && Number.parseInt(digits[0], 8)
}

function readCode(scanner: Scanner): number {
  const braced = scanner.match(/x\{([0-9A-Fa-f]+)\}|N\{U\+([0-9A-Fa-f]+)\}|o\{([0-7]+)\}/y)
  const [, hex, name, octal] = braced ?? []
  if (octal !== undefined) return checkCode(Number.parseInt(octal, 8))
  if (hex !== undefined || name !== undefined) return checkCode(Number.parseInt(hex ?? name ?? '', 16))
  if (!scanner.sees('x') || scanner.sees('x{')) throw new PatternFault('a character code is malformed')
  return Number.parseInt(`0${scanner.match(/x([0-9A-Fa-f]{0,2})/y)?.[1] ?? ''}`, 16)
}

function checkCode(code: number): number {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new PatternFault(`${code.toString(16)} is no Unicode character`)
  return code
}

function readControl(scanner: Scanner): number {
  const key = scanner.match(/[ -~]/y)?.[0]
  if (key === undefined) throw new PatternFault('\\c needs a printable ASCII character')
  return key.toUpperCase().charCodeAt(0) ^ 0x40
}
