import type { AssertionKind, Node } from './ast.ts'
import type { CaptureGroups } from './capture-groups.ts'
import { caselessCharacter } from './case-folding.ts'
import type { PatternModes, PatternOptions } from './modifiers.ts'
import { PatternError } from './pattern-error.ts'
import type { Scanner } from './scanner.ts'

/** A pattern while it is read: what all the readers of its parts share. */
export interface ParserState {
  readonly scanner: Scanner
  readonly groups: CaptureGroups
  readonly modes: PatternModes
  /** What inline flags have made of the modifiers here. */
  options: PatternOptions
  /** Between `\Q` and `\E`. */
  isQuoting: boolean
  /** The bodies of the capturing groups, for calls such as `(?1)`. */
  readonly groupBodies: Map<number, Node>
  /** Reads up to a closing parenthesis or the end; with `reset`, every branch numbers its groups from the same start. */
  readonly parseAlternation: (reset?: boolean) => Node
}

/** Something that has been read, and whether a quantifier may follow; `\b*` is an error in PCRE. */
export interface Atom {
  readonly node: Node
  readonly isRepeatable: boolean
}

/** An atom that a quantifier may follow. */
export function repeatableAtom(node: Node): Atom {
  return { node, isRepeatable: true }
}

/** An assertion, which no quantifier may follow. */
export function assertionAtom(kind: AssertionKind): Atom {
  return { node: { type: 'assertion', kind }, isRepeatable: false }
}

/** Steps over comments, callouts, the quoting marks `\Q` and `\E`, and in extended mode over white space. */
export function skipIgnored(reader: ParserState): void {
  const { scanner } = reader
  for (;;) {
    if (scanner.consume('\\E')) reader.isQuoting = false
    else if (reader.isQuoting) return
    else if (scanner.consume('\\Q')) reader.isQuoting = true
    else if (reader.options.extended && scanner.consumeMatch(WHITE_SPACE) !== undefined) continue
    else if (!scanner.isNext('(?')) return
    else if (scanner.consume('(?#')) {
      if (scanner.consumeMatch(/[^)]*\)/y) === undefined) throw new PatternError('a comment misses its )')
    } else if (scanner.consumeMatch(/\(\?C(?:1?\d?\d|2[0-4]\d|25[0-5])?\)/y) === undefined) return
  }
}

const WHITE_SPACE = /[\t-\r \u0085\u200e\u200f\u2028\u2029]+|#[^\n]*\n?/y

/** A character that stands for itself, in any case if case is ignored. */
export function literalAtom(code: number, { caseless }: { readonly caseless: boolean }): Atom {
  return repeatableAtom(caseless ? caselessCharacter(code) : { type: 'character', code })
}
