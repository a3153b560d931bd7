import type { RoutingDraft, RoutingInput, RuleTraceEntry } from '../../core/contract/index.ts'
import type { PatternRun } from '../../core/pcre/pattern-run.ts'
import { userTexts } from '../../core/text/request-texts.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { type CompiledRouting, type CompiledRoutingRule, skippedEntry } from './compile.ts'

/** The combined effect of all matching rules. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: readonly RuleTraceEntry[]
}

/**
 * Evaluates all rules (docs/api.md, "Evaluation order"): the first matching rule with a setter wins, warnings
 * accumulate.
 */
export function evaluateRouting(
  compiled: CompiledRouting,
  input: RoutingInput,
  run: () => PatternRun,
): MaybePromise<RuleDecision> {
  return chain(
    compiled.findCandidates(() => userTexts(input.request), run),
    (candidates) => applyRules(candidates, input),
  )
}

function applyRules(candidates: readonly CompiledRoutingRule[], input: RoutingInput): RuleDecision {
  const draft: RoutingDraft = { request: input.request, warnings: [], state: {} }
  const trace: RuleTraceEntry[] = []
  const appliedActions = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.matchers.every((matches) => matches(input)))
      applyActions(candidate, draft, appliedActions, trace)
  }
  return { draft, trace }
}

function applyActions(
  { actions, unknown }: CompiledRoutingRule,
  draft: RoutingDraft,
  appliedActions: Set<string>,
  trace: RuleTraceEntry[],
): void {
  for (const { action, value, applied } of actions) {
    if (action.combine === 'first' && appliedActions.has(action.name)) {
      trace.push(skippedEntry(applied, 'already_set_by_rule'))
      continue
    }
    appliedActions.add(action.name)
    action.apply(value, draft)
    trace.push(applied)
  }
  trace.push(...unknown)
}
