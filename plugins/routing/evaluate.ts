import type { RoutingDraft, RoutingInput, RuleTraceEntry } from '../../core/contract/index.ts'
import type { PatternRun } from '../../core/pcre/pattern-run.ts'
import { userTexts } from '../../core/text/request-texts.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { armEntry, type CompiledRouting, type CompiledRoutingRule, skippedEntry } from './compile.ts'

/** The combined effect of all matching rules of the rule sets that were evaluated so far. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: RuleTraceEntry[]
  /** Names of the actions that a rule has applied; of one that stands for another action, the other's. */
  readonly appliedActions: Set<string>
  /** Collected for the first rule set that needs them. */
  texts?: readonly string[]
}

/** The decision before any rule is evaluated. */
export function startDecision({ request }: RoutingInput): RuleDecision {
  return { draft: { request, warnings: [], state: {} }, trace: [], appliedActions: new Set() }
}

/**
 * Evaluates all rules of a rule set (docs/api.md, "Evaluation order"), and adds their effect to the decision:
 * the first matching rule with a setter wins, warnings accumulate.
 */
export function evaluateRouting(
  compiled: CompiledRouting,
  input: RoutingInput,
  run: () => PatternRun,
  decision: RuleDecision = startDecision(input),
): MaybePromise<RuleDecision> {
  return chain(
    compiled.findCandidates(() => {
      decision.texts ??= userTexts(input.request)
      return decision.texts
    }, run),
    (candidates): MaybePromise<RuleDecision> => {
      const overruled = findOverruled(decision.appliedActions, compiled)
      for (const candidate of candidates) {
        if (candidate.matchers.every((matches) => matches(input)))
          applyActions(candidate, input, decision, overruled)
      }
      return decision
    },
  )
}

const NONE: readonly string[] = []

/**
 * Returns the actions that would undo what rule sets of a higher precedence applied: a provider or a mode
 * their model, a model their mode, a user's copy for another model the model or provider that a policy sends
 * the request to. See docs/decisions/policies.md, "A user's rule cannot undo what a policy chose".
 */
function findOverruled(applied: ReadonlySet<string>, { isPolicy }: CompiledRouting): readonly string[] {
  if (applied.size === 0) return NONE
  const isTargetChosen = applied.has('set_model') || applied.has('set_provider')
  return [
    ...(applied.has('set_model') ? ['set_provider', 'set_mode'] : NONE),
    ...(applied.has('set_mode') ? ['set_model'] : NONE),
    ...(isTargetChosen && !isPolicy ? ['shadow'] : NONE),
  ]
}

function applyActions(
  { id, actions, unknown }: CompiledRoutingRule,
  input: RoutingInput,
  { draft, trace, appliedActions }: RuleDecision,
  overruled: readonly string[],
): void {
  for (const compiled of actions) {
    const { action, value, applied } = compiled
    const effect = action.insteadOf ?? action.name
    if (overruled.includes(effect)) {
      trace.push(skippedEntry(applied, 'overruled_by_policy'))
      continue
    }
    if (action.combine === 'first' && appliedActions.has(effect)) {
      trace.push(skippedEntry(applied, 'already_set_by_rule'))
      continue
    }
    const choice = action.choose?.(value, input, id) ?? { value }
    if ('skipped' in choice) {
      trace.push(skippedEntry(applied, choice.skipped))
      continue
    }
    appliedActions.add(effect)
    action.apply(choice.value, draft)
    trace.push(choice.arm === undefined ? applied : armEntry(compiled, choice.arm))
  }
  trace.push(...unknown)
}
