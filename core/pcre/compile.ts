import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { lazy } from '../util/lazy.ts'
import { type Node, sequenceOf, someNode } from './ast.ts'
import { createBacktrackingMatcher, isQuickToCompileInV8 } from './backtracking-matcher.ts'
import { caselessCharacter } from './case-folding.ts'
import { countPositions, estimateRe2CompileCost } from './compile-cost.ts'
import type { Re2Matcher } from './matcher.ts'
import { parseDelimiters } from './modifiers.ts'
import { parsePattern } from './parse.ts'
import { PatternError } from './pattern-error.ts'
import { createRe2Matcher } from './re2-matcher.ts'
import { expandCalls, removeEmptyMatches } from './rewrite.ts'
import {
  createBudgetedRunner,
  createRe2Runner,
  type PatternRunner,
  withRe2Prefilter,
} from './run-within-budget.ts'
import { type Re2Source, toRe2Source } from './to-re2.ts'
import { validatePattern } from './validate.ts'

/** A compiled pattern, ready to run. */
export interface CompiledPattern extends PatternRunner {
  readonly engine: 're2' | 'backtracking'
  /**
   * A source for an `RE2.Set` without flags that matches every text the pattern matches. For the backtracking
   * engine it is an over-approximation. Undefined if RE2 cannot compile it, or not quickly.
   */
  readonly re2SetSource?: string
  /** An upper bound for the cost of each character of text in RE2; see `countPositions`. */
  readonly positions: number
}

/** A pattern that is invalid or not supported. `error` is a sentence without a final period. */
interface NotEvaluable {
  readonly error: string
}

/**
 * Compiles a regular expression of a firewall rule (docs/api.md, "Firewall patterns"). A pattern that cannot
 * be evaluated is not an error: the rule is stored and never matches.
 */
export function compilePattern(pattern: string): CompiledPattern | NotEvaluable {
  return compileCached('regex', pattern, () => {
    const { body, modifiers } = parseDelimiters(pattern)
    const root = expandCalls(parsePattern(body, modifiers))
    validatePattern(root)
    return root
  })
}

/** Compiles a literal text that is matched without regard to case. */
export function compileLiteral(text: string): CompiledPattern | NotEvaluable {
  return compileCached('literal', text, () =>
    sequenceOf([...text].map((letter) => caselessCharacter(letter.codePointAt(0) ?? 0))),
  )
}

/** Least recently used patterns are evicted. After a rule change, only changed patterns are compiled. */
const compiledPatterns = new LRUCache<string, CompiledPattern | NotEvaluable>({ max: 20_000 })

function compileCached(
  kind: 'regex' | 'literal',
  pattern: string,
  parse: () => Node,
): CompiledPattern | NotEvaluable {
  const key = `${kind} ${pattern}`
  const cached = compiledPatterns.get(key)
  if (cached !== undefined) return cached
  const compiled = compileUncached(pattern, parse)
  compiledPatterns.set(key, compiled)
  return compiled
}

const MAX_PATTERN_LENGTH = 10_000

function compileUncached(pattern: string, parse: () => Node): CompiledPattern | NotEvaluable {
  try {
    if (pattern.length > MAX_PATTERN_LENGTH)
      throw new PatternError(`The pattern is longer than ${MAX_PATTERN_LENGTH} characters`)
    return buildPattern(pattern, parse())
  } catch (error) {
    if (error instanceof PatternError) return { error: error.message }
    // V8 rejects a regular expression that is too large for it with a SyntaxError.
    if (error instanceof SyntaxError) return { error: 'The pattern is too large to compile' }
    throw error
  }
}

function buildPattern(pattern: string, root: Node): CompiledPattern {
  const positions = countPositions(root)
  const re2Source = toRe2Source(root)
  const re2Matcher = tryCreateRe2Matcher(root, re2Source, positions)
  const properties = { positions, ...(re2Matcher && { re2SetSource: re2Source.source }) }
  if (re2Matcher !== undefined && re2Source.isExact)
    return { engine: 're2', ...properties, ...createRe2Runner(pattern, re2Matcher) }
  const matcher = withRe2Prefilter(createBacktrackingMatcher(root), re2Matcher)
  return { engine: 'backtracking', ...properties, ...createBudgetedRunner(pattern, matcher) }
}

/** RE2 takes about 5 ms to compile a pattern of this cost. */
const MAX_RE2_COMPILE_COST = 10_000

/** Undefined if RE2 cannot compile the pattern, or not quickly. */
function tryCreateRe2Matcher(root: Node, re2Source: Re2Source, positions: number): Re2Matcher | undefined {
  if (estimateRe2CompileCost(root) > MAX_RE2_COMPILE_COST) return undefined
  if (!isAcceptedByRe2(root, re2Source)) return undefined
  return createRe2Matcher({
    re2Source,
    buildNonEmptySource() {
      const nonEmpty = removeEmptyMatches(root)
      const source = nonEmpty && toRe2Source(nonEmpty)
      return source?.isExact ? source : undefined
    },
    positions,
    createFallback: lazy(() => (isQuickToCompileInV8(root) ? createBacktrackingMatcher(root) : undefined)),
  })
}

/** RE2 can only reject a translated pattern for a Unicode property that it does not know. */
function isAcceptedByRe2(root: Node, { source }: Re2Source): boolean {
  const hasProperty = (node: Node) => node.type === 'set' && node.items.some((item) => 'property' in item)
  if (!someNode(root, hasProperty)) return true
  try {
    new RE2(source, 'u')
    return true
  } catch {
    return false
  }
}
