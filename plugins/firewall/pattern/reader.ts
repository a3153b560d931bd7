import type { Groups } from './groups.ts'
import type { Modes, Options } from './options.ts'
import type { Scanner } from './scanner.ts'
import type { AssertionKind, Node } from './syntax.ts'

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
