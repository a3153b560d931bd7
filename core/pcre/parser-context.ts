import type { AssertionKind, Node } from './ast.ts'
import type { Groups } from './capture-groups.ts'
import { anyCase } from './case-folding.ts'
import type { Modes, Options } from './modifiers.ts'
import { PatternFault } from './pattern-error.ts'
import type { Scanner } from './scanner.ts'

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

/** A character that stands for itself, in any case if case is ignored. */
export function literal(code: number, { caseless }: { readonly caseless: boolean }): Atom {
  return repeatable(caseless ? anyCase(code) : { type: 'character', code })
}
