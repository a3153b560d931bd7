import type {
  Action,
  RoutingDraft,
  RoutingInput,
  RuleTraceEntry,
  Vocabulary,
} from '../../core/contract/index.ts'
import { userTextsOf } from '../../core/text/texts-of.ts'
import type { CompiledRouting, CompiledRule } from './compile.ts'

/** What the matching rules ask for together. */
export interface RuleDecision {
  readonly draft: RoutingDraft
  readonly trace: readonly RuleTraceEntry[]
}

/** Runs all rules: the first to set a thing wins, warnings add up (interface: "Rule evaluation order" 4). */
export async function evaluateRouting(
  compiled: CompiledRouting,
  input: RoutingInput,
  { actions }: Vocabulary,
): Promise<RuleDecision> {
  const draft: RoutingDraft = { request: input.request, warnings: [] }
  const trace: RuleTraceEntry[] = []
  const taken = new Set<string>()
  for (const candidate of await compiled.candidates(() => userTextsOf(input.request))) {
    if (candidate.matchers.every((matches) => matches(input)))
      applyActions(candidate, actions, draft, taken, trace)
  }
  return { draft, trace }
}

function applyActions(
  { rule }: CompiledRule,
  actions: ReadonlyMap<string, Action>,
  draft: RoutingDraft,
  taken: Set<string>,
  trace: RuleTraceEntry[],
): void {
  const record = (action: string, outcome: RuleTraceEntry['outcome'], reason?: string) =>
    trace.push({
      kind: 'routing',
      rule_id: rule.id,
      name: rule.name,
      action,
      outcome,
      ...(reason && { reason }),
    })

  // In the order of the vocabulary, so that the trace of equal rules reads alike however their documents were written.
  for (const { name, combine, apply } of actions.values()) {
    const value = rule.action_json[name]
    if (value === undefined) continue
    if (combine === 'first' && taken.has(name)) {
      record(name, 'skipped', 'already_set_by_rule')
      continue
    }
    taken.add(name)
    apply(value, draft)
    record(name, 'applied')
  }
  for (const name of Object.keys(rule.action_json)) {
    if (!actions.has(name)) record(name, 'skipped', 'unknown_action')
  }
}
