import {
  type Mode,
  type RoutingRule,
  type RuleSet,
  type RuleTraceEntry,
  readMode,
  type Warning,
} from '../../core/contract/index.ts'
import { SETTERS, warningText } from './actions.ts'
import { compileConditions, type Matcher } from './conditions.ts'
import type { RoutingInput } from './input.ts'

export interface CompiledRule {
  readonly rule: RoutingRule
  readonly matches: Matcher
}

/** The enabled rules in evaluation order, ready to run. */
export function compileRouting(rules: RuleSet): readonly CompiledRule[] {
  return rules.routing
    .filter((rule) => rule.is_enabled)
    .map((rule) => ({ rule, matches: compileConditions(rule.match_json) }))
}

/** What the matching rules ask for together. */
export interface RuleDecision {
  readonly provider?: string
  readonly model?: string
  readonly mode?: Mode
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** Runs all rules: the first to set a thing wins, warnings add up (interface: "Rule evaluation order" 4). */
export function evaluateRouting(rules: readonly CompiledRule[], input: RoutingInput): RuleDecision {
  const set = new Map<string, string>()
  const warnings: Warning[] = []
  const trace: RuleTraceEntry[] = []

  for (const { rule, matches } of rules) {
    if (!matches(input)) continue
    const entry = { rule_id: rule.id, name: rule.name }
    for (const action of SETTERS) {
      const value = rule.action_json[action]
      if (typeof value !== 'string') continue
      if (set.has(action)) trace.push({ ...entry, action, outcome: 'skipped', reason: 'already_set_by_rule' })
      else {
        set.set(action, value)
        trace.push({ ...entry, action, outcome: 'applied' })
      }
    }
    if (rule.action_json.add_warning !== undefined) {
      warnings.push({ code: 'routing', message: warningText(rule.action_json.add_warning) })
      trace.push({ ...entry, action: 'add_warning', outcome: 'applied' })
    }
  }

  const provider = set.get('set_provider')
  const model = set.get('set_model')
  const mode = readMode(set.get('set_mode') ?? '')
  return { ...(provider && { provider }), ...(model && { model }), ...(mode && { mode }), warnings, trace }
}
