import type { AssertionKind, Node } from './ast.ts'
import type { CaptureGroups } from './capture-groups.ts'
import { caselessCharacter } from './case-folding.ts'
import type { PatternModes, PatternOptions } from './modifiers.ts'
import { PatternError } from './pattern-error.ts'
import type { Scanner } from './scanner.ts'

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
