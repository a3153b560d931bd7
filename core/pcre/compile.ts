import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { lazy } from '../util/lazy.ts'
import { contains, type Node, sequence } from './ast.ts'
import { canBacktrack, createBacktracking } from './backtracking-matcher.ts'
import { anyCase } from './case-folding.ts'
import { countInstructions, countPositions } from './compile-cost.ts'
import type { LinearMatcher } from './matcher.ts'
import { readDelimiters } from './modifiers.ts'
import { parsePattern } from './parse.ts'
import { PatternFault } from './pattern-error.ts'
import { createLinear } from './re2-matcher.ts'
import { expandCalls, withoutEmpty } from './rewrite.ts'
import { guard, type Runs, runBudgeted, runLinear } from './run-within-budget.ts'
import { type Re2Source, writeRe2 } from './to-re2.ts'
import { checkPattern } from './validate.ts'

/** A pattern ready to run. */
export interface Pattern extends Runs {
  readonly engine: 're2' | 'backtracking'
  /**
   * An RE2 pattern, to be put into an `RE2.Set` without flags, that finds every text the pattern matches; on the
   * backtracking engine it may find more.
   */
  readonly automaton?: string
  /** How many characters the pattern spells out: what it may cost RE2 for every character of a text, at worst. */
  readonly positions: number
}

/** Why a pattern cannot be run. */
interface NotEvaluable {
  readonly error: string
}

const LONGEST = 10_000

/** More than this takes RE2 longer than about 5 ms to compile. */
const MOST_INSTRUCTIONS = 10_000

/**
 * Compiles a firewall regex (docs/api.md, "Firewall patterns"): with delimiters as it stands, else as `/…/i`. What cannot be
 * evaluated is no error of the caller: it counts as no match, and the reason reads on from "… counts as no match: ".
 */
export function compilePattern(pattern: string): Pattern | NotEvaluable {
  return tryCompile('regex', pattern, () => {
    const { body, modifiers } = readDelimiters(pattern)
    const root = expandCalls(parsePattern(body, modifiers))
    checkPattern(root)
    return root
  })
}

/** A literal text, found in any case. */
export function compileLiteral(text: string): Pattern | NotEvaluable {
  return tryCompile('literal', text, () =>
    sequence([...text].map((letter) => anyCase(letter.codePointAt(0) ?? 0))),
  )
}

/** Patterns used last, by kind and text: after a rule change only what changed is compiled. */
const compiled = new LRUCache<string, Pattern | NotEvaluable>({ max: 20_000 })

function tryCompile(kind: 'regex' | 'literal', name: string, read: () => Node): Pattern | NotEvaluable {
  const key = `${kind} ${name}`
  const known = compiled.get(key)
  if (known !== undefined) return known
  const pattern = compileAnew(name, read)
  compiled.set(key, pattern)
  return pattern
}

function compileAnew(name: string, read: () => Node): Pattern | NotEvaluable {
  try {
    if (name.length > LONGEST) throw new PatternFault(`it is longer than ${LONGEST} characters`)
    return createPattern(name, read())
  } catch (error) {
    // V8 refuses what is too large for it with a SyntaxError.
    if (error instanceof PatternFault || error instanceof SyntaxError) return { error: error.message }
    throw error
  }
}

function createPattern(name: string, root: Node): Pattern {
  const positions = countPositions(root)
  const written = writeRe2(root)
  const linear = tryLinear(root, written, positions)
  const described = { positions, ...(linear && { automaton: written.source }) }
  if (linear !== undefined && written.isExact)
    return { engine: 're2', ...described, ...runLinear(name, linear) }
  return {
    engine: 'backtracking',
    ...described,
    ...runBudgeted(name, guard(createBacktracking(root), linear)),
  }
}

/** Undefined for what RE2 cannot compile, or not quickly. */
function tryLinear(root: Node, written: Re2Source, positions: number): LinearMatcher | undefined {
  if (countInstructions(root) > MOST_INSTRUCTIONS || !isKnown(root, written)) return undefined
  const otherwise = lazy(() => (canBacktrack(root) ? createBacktracking(root) : undefined))
  const writeNonEmpty = () => {
    const nonEmpty = withoutEmpty(root)
    const source = nonEmpty && writeRe2(nonEmpty)
    return source?.isExact ? source : undefined
  }
  return createLinear({ written, writeNonEmpty, positions, otherwise })
}

/** Nothing but an unknown Unicode property can be wrong with what was written for RE2. */
function isKnown(root: Node, { source }: Re2Source): boolean {
  const hasProperty = (node: Node) => node.type === 'set' && node.items.some((item) => 'property' in item)
  if (!contains(root, hasProperty)) return true
  try {
    new RE2(source, 'u')
    return true
  } catch {
    return false
  }
}
