import type { RoutingDraft, RoutingInput, RuleTraceEntry } from '../../core/contract/index.ts'
import { chain, type MaybePromise } from '../../core/soon.ts'
import { userTexts } from '../../core/text/texts-of.ts'
import { type CompiledRouting, type CompiledRule, skipped } from './compile.ts'

/** What the matching rules ask for together. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: readonly RuleTraceEntry[]
}

/** Runs all rules: the first to set a thing wins, warnings add up (interface: "Rule evaluation order" 4). */
export function evaluateRouting(compiled: CompiledRouting, input: RoutingInput): MaybePromise<RuleDecision> {
  return chain(
    compiled.candidates(() => userTexts(input.request)),
    (candidates) => applyRules(candidates, input),
  )
}

function applyRules(candidates: readonly CompiledRule[], input: RoutingInput): RuleDecision {
  const draft: RoutingDraft = { request: input.request, warnings: [] }
  const trace: RuleTraceEntry[] = []
  const taken = new Set<string>()
  for (const candidate of candidates) {
    if (candidate.matchers.every((matches) => matches(input))) applyActions(candidate, draft, taken, trace)
  }
  return { draft, trace }
}

function applyActions(
  { actions, unknown }: CompiledRule,
  draft: RoutingDraft,
  taken: Set<string>,
  trace: RuleTraceEntry[],
): void {
  for (const { action, value, applied } of actions) {
    if (action.combine === 'first' && taken.has(action.name)) {
      trace.push(skipped(applied, 'already_set_by_rule'))
      continue
    }
    taken.add(action.name)
    action.apply(value, draft)
    trace.push(applied)
  }
  trace.push(...unknown)
}
