import {
  type ChatRequest,
  GatewayError,
  type RoutingDraft,
  type RoutingInput,
  type RuleTraceEntry,
} from '../../core/contract/index.ts'
import { userTexts } from '../../core/inspection/request-texts.ts'
import type { PatternRun } from '../../core/patterns/pattern-run.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { armEntry, type CompiledRouting, type CompiledRoutingRule, skippedEntry } from './compile.ts'
import { requireAction } from './require-action.ts'

/** The combined effect of all matching rules of the rule sets that were evaluated so far. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: RuleTraceEntry[]
  /** The action that was applied, by what it chooses. */
  readonly chosenBy: Map<string, string>
  /** Collected for the first rule set that needs them, by request. */
  readonly texts: Map<ChatRequest, readonly string[]>
  /** Called with what a condition or an action of a plugin has thrown. */
  onFailure?: (ruleId: number, error: unknown) => void
}

/** The decision before any rule is evaluated. */
export function startDecision({ request }: RoutingInput): RuleDecision {
  return {
    draft: { request, warnings: [], requirements: [], state: {} },
    trace: [],
    chosenBy: new Map(),
    texts: new Map(),
  }
}

/**
 * Evaluates all rules of a rule set (docs/api.md, "Evaluation order"), and adds their effect to the decision:
 * the first matching rule with a setter wins, warnings accumulate. `judged`: the input before later firewall
 * rules masked it, for which the conditions of a policy may hold, too.
 */
export function evaluateRouting(
  compiled: CompiledRouting,
  input: RoutingInput,
  run: () => PatternRun,
  decision: RuleDecision = startDecision(input),
  judged?: RoutingInput,
): MaybePromise<RuleDecision> {
  const find = (seen: RoutingInput) => findMatches(compiled, seen, run, decision)
  const found =
    judged === undefined
      ? find(input)
      : chain(find(judged), (hidden) => chain(find(input), (sent) => mergeInOrder(hidden, sent)))
  return chain(found, (matches): MaybePromise<RuleDecision> => {
    const overruled = findOverruled(decision.chosenBy, compiled)
    for (const match of matches) applyActions(match, input, decision, overruled, compiled)
    return decision
  })
}

/** The rules whose conditions hold for an input, in evaluation order. */
function findMatches(
  compiled: CompiledRouting,
  input: RoutingInput,
  run: () => PatternRun,
  decision: RuleDecision,
): MaybePromise<readonly CompiledRoutingRule[]> {
  const { texts } = decision
  const collect = () => {
    const collected = texts.get(input.request) ?? userTexts(input.request)
    texts.set(input.request, collected)
    return collected
  }
  return chain(
    compiled.findCandidates(collect, run),
    (candidates): MaybePromise<readonly CompiledRoutingRule[]> =>
      candidates.filter((candidate) => matchesAll(candidate, input, decision, compiled)),
  )
}

/** The rules of either list, each once. */
function mergeInOrder(
  some: readonly CompiledRoutingRule[],
  others: readonly CompiledRoutingRule[],
): readonly CompiledRoutingRule[] {
  return [...new Set([...some, ...others])].sort((a, b) => a.index - b.index)
}

const NONE: readonly string[] = []

/** A rule whose condition throws does not match. See `reportFailure`. */
function matchesAll(
  rule: CompiledRoutingRule,
  input: RoutingInput,
  decision: RuleDecision,
  compiled: CompiledRouting,
): boolean {
  try {
    return rule.matchers.every((matches) => matches(input))
  } catch (error) {
    reportFailure(rule.id, error, decision, compiled, rule.actions.some(isGuard))
    for (const { applied } of rule.actions) decision.trace.push(skippedEntry(applied, 'condition_failed'))
    return false
  }
}

/**
 * Reports what a plugin threw. A user's rule is skipped, and the others are evaluated. What a policy demands
 * and what any rule requires of models must not be left out, so the request is refused. See
 * docs/decisions/plugins.md, "A rule whose condition throws does not match".
 */
function reportFailure(
  ruleId: number,
  error: unknown,
  decision: RuleDecision,
  { isPolicy }: CompiledRouting,
  isGuarding = false,
): void {
  if (GatewayError.isInstance(error)) throw error
  decision.onFailure?.(ruleId, error)
  if (!isPolicy && !isGuarding) return
  const rule = isPolicy ? 'A rule of a policy' : 'A rule that requires attributes of models'
  const message = `${rule} could not be evaluated, so the request was refused.`
  throw new GatewayError('internal_error', message, { cause: error, meta: { rule_id: ruleId } })
}

/**
 * Returns the choices that would undo what rule sets of a higher precedence applied: a provider or a mode
 * their model, a model their mode, a user's copy for another model the model or provider that a policy sends
 * the request to. See docs/decisions/policies.md, "A user's rule cannot undo what a policy chose".
 */
function findOverruled(
  chosen: ReadonlyMap<string, unknown>,
  { isPolicy }: CompiledRouting,
): readonly string[] {
  if (chosen.size === 0) return NONE
  const isTargetChosen = chosen.has('model') || chosen.has('provider')
  return [
    ...(chosen.has('model') ? ['provider', 'mode'] : NONE),
    ...(chosen.has('mode') ? ['model'] : NONE),
    ...(isTargetChosen && !isPolicy ? ['copy'] : NONE),
  ]
}

function isGuard({ action }: CompiledRoutingRule['actions'][number]): boolean {
  return action === requireAction
}

function applyActions(
  { id, actions, unknown }: CompiledRoutingRule,
  input: RoutingInput,
  decision: RuleDecision,
  overruled: readonly string[],
  compiledRules: CompiledRouting,
): void {
  const { draft, trace, chosenBy } = decision
  for (const compiled of actions) {
    const { action, value, choice, applied } = compiled
    if (overruled.includes(choice)) {
      trace.push(skippedEntry(applied, 'overruled_by_policy'))
      continue
    }
    if (action.combine === 'first' && chosenBy.has(choice)) {
      trace.push(skippedEntry(applied, 'already_set_by_rule'))
      continue
    }
    try {
      const chosen = action.choose?.(value, input, id) ?? { value }
      if ('skipped' in chosen) {
        trace.push(skippedEntry(applied, chosen.skipped))
        continue
      }
      action.apply(chosen.value, draft)
      chosenBy.set(choice, action.name)
      trace.push(chosen.arm === undefined ? applied : armEntry(compiled, chosen.arm))
    } catch (error) {
      reportFailure(id, error, decision, compiledRules)
      trace.push(skippedEntry(applied, 'action_failed'))
    }
  }
  trace.push(...unknown)
}
