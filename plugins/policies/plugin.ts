import type { Endpoint, FirewallRule, Plugin, RoutingRule } from '../../core/contract/index.ts'
import { createDiffEndpoint, createHistoryEndpoints } from '../audit/endpoints.ts'
import type { RuleHistoryServices } from '../audit/services.ts'
import { createBatchEndpoint } from '../rules/batch-endpoint.ts'
import { createRuleEndpoints } from '../rules/endpoints.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import { createEffectiveRuleEndpoints, type EffectiveRuleServices } from './effective-rules.ts'
import type { GroupServices } from './group-commands.ts'
import { createGroupEndpoints } from './group-endpoints.ts'
import type { PolicyServices } from './policy-commands.ts'
import { createPolicyEndpoints } from './policy-endpoints.ts'

interface PoliciesServices
  extends Omit<GroupServices & PolicyServices, 'history'>,
    Pick<EffectiveRuleServices, 'readCallerAt' | 'snapshotCaller'> {
  readonly ruleServices: RuleHistoryServices
}

/** Serves the endpoints for groups, policies and the rules of policies (docs/policies.md). */
export function createPolicies({ ruleServices, ...others }: PoliciesServices): Plugin {
  const services = { ...others, history: ruleServices.history }
  return {
    name: 'policies',
    after: ['auth', 'firewall', 'routing'],
    setup: () => ({
      endpoints: [
        ...createGroupEndpoints(services),
        ...createPolicyEndpoints(services),
        ...createPolicyRuleEndpoints(ruleServices),
        ...createEffectiveRuleEndpoints({ ...others, kinds: ruleServices.kinds }),
      ],
    }),
  }
}

/** The endpoints that users have for their own rules, for the rules of a policy. */
function createPolicyRuleEndpoints(services: RuleHistoryServices): readonly Endpoint[] {
  const { kinds, commands, scope } = services

  function createKindEndpoints<Rule extends RoutingRule | FirewallRule, Content>(
    kind: RuleKind<Rule, Content>,
  ): readonly Endpoint[] {
    const createCommands = commands[kind.name]
    return [
      ...createRuleEndpoints({ ...services, kind, createCommands }),
      ...createHistoryEndpoints(kind, services),
    ]
  }

  return [
    ...createKindEndpoints(kinds.routing),
    ...createKindEndpoints(kinds.firewall),
    createBatchEndpoint(scope, kinds, commands, services),
    createDiffEndpoint(services),
  ]
}
