import { closeOverCase } from './case-folding.ts'
import { readCharacterEscape, readOctal } from './escapes.ts'
import { PatternFault } from './fault.ts'
import { posixSet, shorthandSet } from './named-sets.ts'
import { propertySet } from './properties.ts'
import { single } from './ranges.ts'
import type { Scanner } from './scanner.ts'
import { type Node, type Range, type SetItem, set } from './syntax.ts'

/** What the modifiers say about classes. */
export interface ClassMode {
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
