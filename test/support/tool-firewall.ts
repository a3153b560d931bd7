import {
  type FirewallRule,
  GatewayError,
  type RuleOrigin,
  type RuleSet,
  type RuleTraceEntry,
  type Warning,
} from '../../core/contract/index.ts'
import { PatternRun, scaleCpuLimit } from '../../core/patterns/pattern-run.ts'
import { compileFirewall } from '../../plugins/firewall/compile.ts'
import type { ToolFirewallCaller, ToolFirewallScope } from '../../plugins/firewall/index.ts'
import { createToolFirewall } from '../../plugins/firewall/tool-firewall.ts'
import { ruleSet } from './rules.ts'

export interface ToolInspection {
  readonly rules?: readonly FirewallRule[]
  /** The rules of policies, the first one first. */
  readonly policies?: readonly (readonly FirewallRule[])[]
  readonly cpuMs?: number
  readonly onTimeout?: 'refuse' | 'allow'
}

/** What became of a JSON text. */
export interface InspectedToolText {
  /** Undefined if it is refused. */
  readonly json: string | undefined
  readonly error: GatewayError | undefined
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
  /** How many rule sets were compiled: none if no rule applies. */
  readonly compiled: number
}

/** Inspects a JSON text by rules, whose scope becomes `scope`, as the gateway does for tools. */
export async function inspectToolText(
  scope: ToolFirewallScope,
  json: string,
  { rules = [], policies = [], cpuMs = 500, onTimeout = 'refuse' }: ToolInspection,
): Promise<InspectedToolText> {
  let compiled = 0
  const firewall = createToolFirewall({
    compiled(set, compiledScope) {
      compiled += 1
      return compileFirewall(set, compiledScope)
    },
    toEvaluation: () => ({
      onTimeout,
      createRun: (length) => new PatternRun({ owner: 1, cpuLimitMs: scaleCpuLimit(cpuMs, length) }),
    }),
    logUnfinished: () => undefined,
  })
  const record = { warnings: [], trace: [] }
  const caller = {
    policies: policies.map((policy, index) => toRuleSet(policy, scope, index + 1)),
    rules: toRuleSet(rules, scope),
  } as unknown as ToolFirewallCaller
  try {
    const result = await firewall.inspect(caller, scope, json, record)
    return { ...record, json: result.json, error: undefined, compiled }
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    return { ...record, json: undefined, error, compiled }
  }
}

/** `policy`: the id of the policy that owns the rules. */
function toRuleSet(rules: readonly FirewallRule[], scope: ToolFirewallScope, policy?: number): RuleSet {
  const scoped = rules.map((rule, index): FirewallRule => {
    return { ...rule, id: policy === undefined ? rule.id : 100 * policy + index, scope }
  })
  const origin: RuleOrigin | undefined =
    policy === undefined ? undefined : { type: 'policy', id: policy, name: `P${policy}` }
  return { ...ruleSet(scoped), ...(origin && { origin }) }
}
