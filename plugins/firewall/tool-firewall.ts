import type { ChatRequest, GatewayError, RuleSet } from '../../core/contract/index.ts'
import { INSPECTED, type Inspection } from '../../core/inspection/inspection.ts'
import { TOOL_DEFINITION, TOOL_RESULT } from '../../core/inspection/tool-inspection.ts'
import { MAX_SLOTS, toToolRequest } from '../../core/inspection/tool-request.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { forEachRuleSet } from '../rules/index.ts'
import type { CompiledFirewall } from './compile.ts'
import type { EvaluationOptions, FirewallOutcome } from './evaluate.ts'
import type { ToolFirewall, ToolFirewallCaller, ToolFirewallRecord, ToolFirewallScope } from './index.ts'
import { recordOutcome } from './record-outcome.ts'
import { firewallError, REFUSED, toRefusalError } from './refusal.ts'
import { RuleWalk } from './rule-walk.ts'

/** What the inspection shares with that of requests. */
interface ToolFirewallParts {
  compiled(rules: RuleSet, scope: ToolFirewallScope): MaybePromise<CompiledFirewall>
  toEvaluation(caller: ToolFirewallCaller): EvaluationOptions
  logUnfinished(caller: ToolFirewallCaller, rules: FirewallOutcome['unfinished']): void
}

function hasRulesOf({ firewall }: RuleSet, scope: ToolFirewallScope): boolean {
  return firewall.some((rule) => rule.scope === scope && rule.is_enabled)
}

export function createToolFirewall(parts: ToolFirewallParts): ToolFirewall {
  const applies: ToolFirewall['applies'] = ({ policies, rules }, scope) =>
    hasRulesOf(rules, scope) || policies.some((policy) => hasRulesOf(policy, scope))

  /** Returns what the rules leave of a request. */
  function inspectRequest(
    caller: ToolFirewallCaller,
    scope: ToolFirewallScope,
    request: ChatRequest,
    record: ToolFirewallRecord,
  ): MaybePromise<ChatRequest> {
    const walk = new RuleWalk(parts.toEvaluation(caller), (outcome, isAgain) => {
      recordOutcome(record, outcome, isAgain)
      if (outcome.unfinished.length > 0) parts.logUnfinished(caller, outcome.unfinished)
      if (outcome.refusal !== undefined) throw toRefusalError(outcome.refusal)
    })
    let current = request
    const visited = forEachRuleSet(caller, (rules) =>
      chain(parts.compiled(rules, scope), (firewall) =>
        chain(walk.visit(firewall, current), (masked): MaybePromise<void> => {
          current = masked
        }),
      ),
    )
    return chain(visited, () => walk.settle(current))
  }

  return {
    applies,
    inspect(caller, scope, json, { warnings, trace } = { warnings: [], trace: [] }) {
      if (!applies(caller, scope)) return { json, warnings, trace }
      return chain(toToolRequest(json, POSITIONS[scope]), (read) => {
        if (read === undefined) throw tooManyPartsError(scope)
        const inspected = inspectRequest(caller, scope, read.request, { warnings, trace })
        return chain(chain(inspected, read.write), ({ json: masked, hasKeyCollision }) => {
          if (hasKeyCollision) throw equalNamesError(scope)
          return { json: masked, warnings, trace }
        })
      })
    },
    inspectMessages(caller, scope, messages, record) {
      if (messages.length === 0 || !applies(caller, scope)) return messages
      return chain(inspectRequest(caller, scope, { messages }, record), (inspected) => inspected.messages)
    },
  }
}

/** What rules inspect in each text. */
const POSITIONS: Readonly<Record<ToolFirewallScope, Inspection>> = {
  tool_call: INSPECTED,
  tool_result: TOOL_RESULT,
  prompt: TOOL_DEFINITION,
}

function tooManyPartsError(scope: ToolFirewallScope): GatewayError {
  const message =
    `${REFUSED[scope]} blocked: it has more than ${MAX_SLOTS} texts and fields, so firewall rules cannot ` +
    'inspect it. Answer with fewer content blocks, or with structured content.'
  return firewallError('firewall_timeout', message)
}

function equalNamesError(scope: ToolFirewallScope): GatewayError {
  const message = `${REFUSED[scope]} blocked by firewall rules: masks make two names of an object equal.`
  return firewallError('firewall_blocked', message)
}
