import { LRUCache } from 'lru-cache'
import RE2 from 're2'
import { canBacktrack, createBacktracking } from './backtracking.ts'
import type { Budget } from './budget.ts'
import { checkPattern } from './check.ts'
import { processorTime } from './deadline.ts'
import { readDelimiters } from './delimiters.ts'
import { expandCalls } from './expand-calls.ts'
import { PatternFault } from './fault.ts'
import { createLinear } from './linear.ts'
import { anyCase } from './literal.ts'
import type { LinearMatcher, Matcher } from './matcher.ts'
import { countInstructions, countPositions } from './measure.ts'
import { once } from './once.ts'
import { parsePattern } from './parse.ts'
import type { Replacement } from './replacement.ts'
import { contains, type Node, sequence } from './syntax.ts'
import { withoutEmpty } from './without-empty.ts'
import { type Re2Source, writeRe2 } from './write-re2.ts'

/** A pattern ready to run. Over the budget it matches nothing, and the budget notes it. */
export interface Pattern {
  readonly engine: 're2' | 'backtracking'
  test(text: string, budget: Budget): boolean
  /** The text with every match replaced; empty matches are left alone. */
  replace(text: string, replacement: Replacement, budget: Budget): string
  /** Whether the text can be run through here and now; if not, the runs apart are for it: they hold up nobody. */
  isQuick(text: string): boolean
  testApart(text: string, budget: Budget): Promise<boolean>
  replaceApart(text: string, replacement: Replacement, budget: Budget): Promise<string>
  /**
   * An RE2 pattern, to be put into an `RE2.Set` without flags, that finds every text the pattern matches; on the
   * backtracking engine it may find more.
   */
  readonly automaton?: string
  /** How many characters the pattern spells out: what it may cost RE2 for every character of a text, at worst. */
  readonly positions: number
}

/** Why a pattern cannot be run. */
export interface NotEvaluable {
  readonly error: string
}

const LONGEST = 10_000

/** More than this takes RE2 longer than about 5 ms to compile. */
const MOST_INSTRUCTIONS = 10_000

/**
 * Compiles a firewall regex (interface: "Pattern rules"): with delimiters as it stands, else as `/…/i`. What cannot be
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

type Runs = Pick<Pattern, 'test' | 'replace' | 'isQuick' | 'testApart' | 'replaceApart'>

/** RE2 needs no budget: what is not quick can go to another thread, where nobody has to wait for it. */
function runLinear(name: string, matcher: LinearMatcher): Runs {
  const budgeted = runBudgeted(name, matcher)
  return {
    isQuick: matcher.isQuick,
    test(text, budget) {
      const isFound = matcher.isQuick(text) ? matcher.test(text, Number.POSITIVE_INFINITY) : undefined
      return isFound ?? budgeted.test(text, budget)
    },
    replace(text, replacement, budget) {
      const replaced = matcher.isQuick(text)
        ? matcher.replace(text, replacement, Number.POSITIVE_INFINITY)
        : undefined
      return replaced ?? budgeted.replace(text, replacement, budget)
    },
    testApart: async (text, budget) => (await matcher.testApart(text)) ?? budgeted.test(text, budget),
    replaceApart: async (text, replacement, budget) =>
      (await matcher.replaceApart(text, replacement)) ?? budgeted.replace(text, replacement, budget),
  }
}

function runBudgeted(name: string, matcher: Matcher): Runs {
  const test: Pattern['test'] = (text, budget) =>
    spend(budget, name, (time) => matcher.test(text, time)) ?? false
  const replace: Pattern['replace'] = (text, replacement, budget) =>
    spend(budget, name, (time) => matcher.replace(text, replacement, time)) ?? text
  return {
    test,
    replace,
    isQuick: () => true,
    testApart: async (...given) => test(...given),
    replaceApart: async (...given) => replace(...given),
  }
}

/** Undefined for what RE2 cannot compile, or not quickly. */
function tryLinear(root: Node, written: Re2Source, positions: number): LinearMatcher | undefined {
  if (countInstructions(root) > MOST_INSTRUCTIONS || !isKnown(root, written)) return undefined
  const otherwise = once(() => (canBacktrack(root) ? createBacktracking(root) : undefined))
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

/** Asks RE2 first, where it knows a pattern that matches more: most texts never get as far as backtracking. */
function guard(matcher: Matcher, linear: Matcher | undefined): Matcher {
  if (linear === undefined) return matcher
  return {
    test(text, milliseconds) {
      const end = performance.now() + milliseconds
      if (linear.test(text, milliseconds / 2) === false) return false
      return matcher.test(text, end - performance.now())
    },
    replace(text, replacement, milliseconds) {
      const end = performance.now() + milliseconds
      if (linear.test(text, milliseconds / 2) === false) return text
      return matcher.replace(text, replacement, end - performance.now())
    },
  }
}

function spend<Result>(
  budget: Budget,
  name: string,
  run: (milliseconds: number) => Result | undefined,
): Result | undefined {
  if (budget.remaining() <= 0) {
    budget.overrun(name)
    return undefined
  }
  const start = performance.now()
  const before = processorTime()
  const result = run(budget.share())
  // The lesser of both: the clock runs on while others have the processor, and its time counts what other threads did.
  budget.spend(Math.min(performance.now() - start, processorTime() - before))
  if (result === undefined) budget.overrun(name)
  return result
}
