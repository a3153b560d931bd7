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

/** A pattern ready to run. */
export interface CompiledPattern extends PatternRunner {
  readonly engine: 're2' | 'backtracking'
  /**
   * An RE2 pattern, to be put into an `RE2.Set` without flags, that finds every text the pattern matches; on the
   * backtracking engine it may find more.
   */
  readonly re2SetSource?: string
  /** How many characters the pattern spells out: what it may cost RE2 for every character of a text, at worst. */
  readonly positions: number
}

/** Why a pattern cannot be run. */
interface NotEvaluable {
  readonly error: string
}

const MAX_PATTERN_LENGTH = 10_000

/** More than this takes RE2 longer than about 5 ms to compile. */
const MAX_RE2_COMPILE_COST = 10_000

/**
 * Compiles a firewall regex (docs/api.md, "Firewall patterns"): with delimiters as it stands, else as `/…/i`. What cannot be
 * evaluated is no error of the caller: it counts as no match, and the reason reads on from "… counts as no match: ".
 */
export function compilePattern(pattern: string): CompiledPattern | NotEvaluable {
  return compileCached('regex', pattern, () => {
    const { body, modifiers } = parseDelimiters(pattern)
    const root = expandCalls(parsePattern(body, modifiers))
    validatePattern(root)
    return root
  })
}

/** A literal text, found in any case. */
export function compileLiteral(text: string): CompiledPattern | NotEvaluable {
  return compileCached('literal', text, () =>
    sequenceOf([...text].map((letter) => caselessCharacter(letter.codePointAt(0) ?? 0))),
  )
}

/** Patterns used last, by kind and text: after a rule change only what changed is compiled. */
const compiledPatterns = new LRUCache<string, CompiledPattern | NotEvaluable>({ max: 20_000 })

function compileCached(
  kind: 'regex' | 'literal',
  name: string,
  read: () => Node,
): CompiledPattern | NotEvaluable {
  const key = `${kind} ${name}`
  const known = compiledPatterns.get(key)
  if (known !== undefined) return known
  const pattern = compileUncached(name, read)
  compiledPatterns.set(key, pattern)
  return pattern
}

function compileUncached(name: string, read: () => Node): CompiledPattern | NotEvaluable {
  try {
    if (name.length > MAX_PATTERN_LENGTH)
      throw new PatternError(`it is longer than ${MAX_PATTERN_LENGTH} characters`)
    return buildPattern(name, read())
  } catch (error) {
    // V8 refuses what is too large for it with a SyntaxError.
    if (error instanceof PatternError || error instanceof SyntaxError) return { error: error.message }
    throw error
  }
}

function buildPattern(name: string, root: Node): CompiledPattern {
  const positions = countPositions(root)
  const written = toRe2Source(root)
  const linear = tryCreateRe2Matcher(root, written, positions)
  const described = { positions, ...(linear && { re2SetSource: written.source }) }
  if (linear !== undefined && written.isExact)
    return { engine: 're2', ...described, ...createRe2Runner(name, linear) }
  return {
    engine: 'backtracking',
    ...described,
    ...createBudgetedRunner(name, withRe2Prefilter(createBacktrackingMatcher(root), linear)),
  }
}

/** Undefined for what RE2 cannot compile, or not quickly. */
function tryCreateRe2Matcher(root: Node, written: Re2Source, positions: number): Re2Matcher | undefined {
  if (estimateRe2CompileCost(root) > MAX_RE2_COMPILE_COST || !isAcceptedByRe2(root, written)) return undefined
  const otherwise = lazy(() => (isQuickToCompileInV8(root) ? createBacktrackingMatcher(root) : undefined))
  const writeNonEmpty = () => {
    const nonEmpty = removeEmptyMatches(root)
    const source = nonEmpty && toRe2Source(nonEmpty)
    return source?.isExact ? source : undefined
  }
  return createRe2Matcher({
    re2Source: written,
    buildNonEmptySource: writeNonEmpty,
    positions,
    createFallback: otherwise,
  })
}

/** Nothing but an unknown Unicode property can be wrong with what was written for RE2. */
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
