import type { ChatRequest, RuleSet } from '../../core/contract/index.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { forEachRuleSet } from '../rules/index.ts'
import type { CompiledFirewall } from './compile.ts'
import type { EvaluationOptions, FirewallOutcome } from './evaluate.ts'
import type { ToolFirewall, ToolFirewallCaller, ToolFirewallScope } from './index.ts'
import { recordOutcome } from './record-outcome.ts'
import { toRefusalError } from './refusal.ts'
import { RuleWalk } from './rule-walk.ts'

/** What the inspection shares with that of requests. */
interface ToolFirewallParts {
  compiled(rules: RuleSet, scope: ToolFirewallScope): MaybePromise<CompiledFirewall>
  toEvaluation(caller: ToolFirewallCaller): EvaluationOptions
  logUnfinished(caller: ToolFirewallCaller, rules: FirewallOutcome['unfinished']): void
}

export function hasRulesOf({ firewall }: RuleSet, scope: ToolFirewallScope): boolean {
  return firewall.some((rule) => rule.scope === scope && rule.is_enabled)
}

export function createToolFirewall(parts: ToolFirewallParts): ToolFirewall {
  const applies: ToolFirewall['applies'] = ({ policies, rules }, scope) =>
    hasRulesOf(rules, scope) || policies.some((policy) => hasRulesOf(policy, scope))
  return {
    applies,
    inspect(caller, scope, json, record = { warnings: [], trace: [] }) {
      if (!applies(caller, scope)) return { json, ...record }
      const walk = new RuleWalk(parts.toEvaluation(caller), (outcome, isAgain) => {
        recordOutcome(record, outcome, isAgain)
        if (outcome.unfinished.length > 0) parts.logUnfinished(caller, outcome.unfinished)
        if (outcome.refusal !== undefined) throw toRefusalError(outcome.refusal)
      })
      let request = toRequest(json)
      const visited = forEachRuleSet(caller, (rules) =>
        chain(parts.compiled(rules, scope), (firewall) =>
          chain(walk.visit(firewall, request), (masked): MaybePromise<void> => {
            request = masked
          }),
        ),
      )
      return chain(visited, () =>
        chain(walk.settle(request), (settled) => ({ json: toJson(settled), ...record })),
      )
    },
  }
}

/** A request in which the JSON text is inspected like the arguments of a tool call. */
function toRequest(json: string): ChatRequest {
  const call = { id: '', type: 'function', function: { name: '', arguments: json } } as const
  return { messages: [{ role: 'assistant', tool_calls: [call] }] }
}

function toJson({ messages: [message] }: ChatRequest): string {
  return message?.tool_calls?.[0]?.function?.arguments ?? ''
}
