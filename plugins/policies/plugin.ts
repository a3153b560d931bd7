import type { Endpoint, FirewallRule, Plugin, RecordedEvent, RoutingRule } from '../../core/contract/index.ts'
import { manageResource } from '../../core/resources/endpoints.ts'
import type { Groups } from '../../projections/groups.ts'
import type { StreamHistory } from '../../projections/history.ts'
import { createDiffEndpoint, createHistoryEndpoints } from '../audit/endpoints.ts'
import { describeLostRace } from '../audit/lost-races.ts'
import type { RuleHistoryServices } from '../audit/services.ts'
import { createBatchEndpoint } from '../rules/batch-endpoint.ts'
import { createRuleEndpoints } from '../rules/endpoints.ts'
import type { RuleKind } from '../rules/rule-kind.ts'
import { createEffectiveRuleEndpoints, type EffectiveRuleServices } from './effective-rules.ts'
import { createGroupMemberEndpoints } from './group-members.ts'
import { groups as groupResource } from './groups.ts'
import type { PolicyServices } from './policy-commands.ts'
import { createPolicyEndpoints } from './policy-endpoints.ts'

interface PoliciesServices
  extends Omit<PolicyServices, 'groups' | 'history'>,
    Pick<EffectiveRuleServices, 'readCallerAt' | 'snapshotCaller'> {
  readonly groups: Groups
  readonly history: StreamHistory
  readonly ruleServices: RuleHistoryServices
  /** For the rules of users, which operators change. */
  readonly userRuleServices: RuleHistoryServices
}

/** Serves the endpoints for groups, policies and the rules of policies (docs/policies.md). */
export function createPolicies(services: PoliciesServices): Plugin {
  const { ruleServices, userRuleServices } = services
  return {
    name: 'policies',
    after: ['auth', 'firewall', 'routing'],
    setup: () => ({
      endpoints: [
        ...createGroupEndpoints(services),
        ...createGroupMemberEndpoints(services),
        ...createPolicyEndpoints(services),
        ...createOperatorRuleEndpoints(ruleServices),
        ...createOperatorRuleEndpoints(userRuleServices),
        ...createEffectiveRuleEndpoints({ ...services, kinds: ruleServices.kinds }),
      ],
    }),
  }
}

function createGroupEndpoints(services: PoliciesServices): readonly Endpoint[] {
  const { groups } = services
  const state = {
    find: groups.group,
    list: groups.groups,
    streamRevision: groups.revision,
    withoutEffect: ({ position }: RecordedEvent) => describeLostRace(groups.withoutEffect().get(position)),
  }
  return Object.values(manageResource(groupResource, state, services).endpoints)
}

/** The endpoints that users have for their own rules, for operators: for the rules of a policy or a user. */
function createOperatorRuleEndpoints(services: RuleHistoryServices): readonly Endpoint[] {
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
