import type { AssertionKind } from './ast.ts'

/** A pattern as instructions for `runProgram`, which gives PCRE's results where no other engine does. */
export interface Program {
  readonly instructions: readonly Instruction[]
  readonly groupCount: number
  /** Registers: the start of the match, start and end of each group, and what loops and groups need. */
  readonly registerCount: number
}

export type CharacterTest = (code: number) => boolean

export type Instruction =
  | { readonly op: 'character'; readonly test: CharacterTest }
  /** A repeated single character, as often as possible; without `isPossessive` it gives back one by one. */
  | {
      readonly op: 'run'
      readonly test: CharacterTest
      readonly min: number
      readonly max: number
      readonly isPossessive: boolean
    }
  | { readonly op: 'grapheme' }
  | { readonly op: 'assert'; readonly kind: AssertionKind }
  | { readonly op: 'back-reference'; readonly index: number; readonly caseless: boolean }
  | { readonly op: 'group-test'; readonly index: number; readonly negated: boolean }
  | { readonly op: 'recursion-test'; readonly called: number | undefined; readonly negated: boolean }
  | { readonly op: 'jump'; to: number }
  /** Goes on, and at `to` if that fails. */
  | { readonly op: 'try'; to: number }
  | { readonly op: 'set-register'; readonly register: number; readonly value: 'position' | 0 }
  | { readonly op: 'close-group'; readonly index: number; readonly opened: number }
  /** The head of a loop: `counter` counts its iterations, the next register holds where one began. */
  | {
      readonly op: 'loop'
      readonly counter: number
      readonly min: number
      readonly max: number
      readonly isLazy: boolean
      exit: number
    }
  /** The end of an iteration. An empty one ends a loop without maximum, as in PCRE. */
  | {
      readonly op: 'next-iteration'
      readonly counter: number
      readonly min: number
      readonly max: number
      readonly head: number
    }
  /** Calls and returns from a group, `(?1)`. */
  | { readonly op: 'call'; readonly index: number; to: number }
  | { readonly op: 'return' }
  /** Starts a part that is not backtracked into once it has ended with `commit`. */
  | { readonly op: 'begin'; readonly isLookAround: boolean }
  | { readonly op: 'commit'; readonly restoresPosition: boolean }
  /** Starts a negative look-around, which goes on at `to` unless it reaches its `reject`. */
  | { readonly op: 'begin-negated'; to: number }
  | { readonly op: 'reject' }
  /** Moves back, for a look-behind. */
  | { readonly op: 'back'; readonly count: number }
  | { readonly op: 'fail' }
  /**
   * `(*PRUNE)`, `(*SKIP)` and `(*COMMIT)`: backtracking past it gives up this start, goes on with a start
   * here, or gives up the search.
   */
  | { readonly op: 'prune' }
  | { readonly op: 'skip' }
  | { readonly op: 'give-up' }
  /** `(*THEN)`: backtracking past it goes on with the next branch of the alternation that began last. */
  | { readonly op: 'then' }
  | { readonly op: 'begin-branch' }
  | { readonly op: 'end-mark' }
  | { readonly op: 'match' }

/** The register of the start of the match, which `\K` sets. */
export const MATCH_START = 0

/** The register of the start of a group; its end is the next one. */
export function groupRegister(index: number): number {
  return 2 * index - 1
}
