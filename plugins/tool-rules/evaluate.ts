import type { RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { PatternLimitError, type PatternRun } from '../../core/patterns/pattern-run.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { isPromiseLike, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { type ArgumentsTest, type CompiledToolRule, type CompiledToolRules, toolWarning } from './compile.ts'
import type { ToolCall, ToolVerdict } from './index.ts'

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

/**
 * Evaluates the rules of policies and then the user's own. The first one that matches and does not only warn
 * decides. If it lets the call pass, the warnings of all others are added; after a refusal, nothing is.
 * See docs/decisions/rules.md, "Own tool rules open nothing".
 */
export async function evaluateToolRules(
  sets: readonly CompiledToolRules[],
  call: ToolCall,
  run: PatternRun,
): Promise<ToolVerdict> {
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []
  const verdict: Mutable<ToolVerdict> = { action: undefined, rule: undefined, warnings, trace }
  const slice = createCooperativeYield()
  for (const { isPolicy, rulesFor } of sets)
    for (const compiled of rulesFor(call)) {
      if (slice.isDue()) await slice.yieldNow()
      const { rule, origin, applied, warning } = compiled
      const { action } = rule
      if (action !== 'warn' && verdict.rule !== undefined) continue
      if (!compiled.matchesReading(call.read)) continue
      const passes = passesTests(compiled, call, run)
      const matches = isPromiseLike(passes) ? await passes : passes
      if (matches === false) continue
      trace.push(matches ? applied : { ...applied, outcome: 'skipped', reason: 'time_limit' })
      if (action === 'warn' && matches) warnings.push(warning)
      if (matches === undefined)
        warnings.push(toolWarning(rule, origin, 'was not evaluated: its pattern exceeded the time limit'))
      if (action === 'warn' || (action === 'allow' && matches === undefined)) continue
      verdict.rule = { id: rule.id, name: rule.name, ...(origin && { origin }) }
      if (action === 'allow') verdict.action = isPolicy ? 'allow' : undefined
      else verdict.action = matches || action === 'hide' ? action : 'deny'
      if (verdict.action === 'deny' || verdict.action === 'hide') return verdict
    }
  return verdict
}

/** Whether the arguments pass the tests of the rule; undefined if its patterns did not finish. */
function passesTests(
  { tests }: Pick<CompiledToolRule, 'tests'>,
  call: ToolCall,
  run: PatternRun,
  from = 0,
  isFinished = true,
): MaybePromise<boolean | undefined> {
  let isSure = isFinished
  for (let index = from; index < tests.length; index++) {
    const passes = runTest(tests[index] as ArgumentsTest, call, run)
    if (isPromiseLike(passes))
      return passes.then((passed) =>
        passed === false ? false : passesTests({ tests }, call, run, index + 1, passed === true && isSure),
      )
    if (passes === false) return false
    // Another test may still tell that the rule does not match.
    if (passes === undefined) isSure = false
  }
  return isSure || undefined
}

function runTest(test: ArgumentsTest, call: ToolCall, run: PatternRun): MaybePromise<boolean | undefined> {
  try {
    const passes = test(call, run)
    return isPromiseLike(passes) ? passes.catch(toUnfinished) : passes
  } catch (error) {
    return toUnfinished(error)
  }
}

function toUnfinished(error: unknown): undefined {
  if (!(error instanceof PatternLimitError)) throw error
}

/**
 * Whether some call of the tool may pass, as far as its name tells. `byDefault`: whether the server allows
 * what no rule decides about. See docs/decisions/rules.md, "A tool is listed if some call of it may pass".
 */
export function isToolListed(
  sets: readonly CompiledToolRules[],
  tool: Pick<ToolCall, 'server' | 'tool'>,
  byDefault: boolean,
): boolean {
  for (const { isPolicy, rulesFor } of sets)
    for (const { rule, needsOnlyNames } of rulesFor(tool)) {
      const { action } = rule
      if (action === 'warn') continue
      if (action === 'deny' || action === 'hide') {
        if (needsOnlyNames) return false
        continue
      }
      if (action === 'require_approval' || isPolicy || byDefault) return true
      // An own rule that allows opens nothing.
      if (needsOnlyNames) return false
    }
  return byDefault
}

/** Whether a decision about the tool may depend on its arguments, which approvals are bound to. */
export function needsArguments(
  sets: readonly CompiledToolRules[],
  call: Omit<ToolCall, 'arguments'>,
): boolean {
  return sets.some(({ rulesFor }) =>
    rulesFor(call).some(
      ({ rule, tests, matchesReading }) =>
        (tests.length > 0 || rule.action === 'require_approval') && matchesReading(call.read),
    ),
  )
}
