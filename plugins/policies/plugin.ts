import { definePlugin, type Endpoint, type RecordedEvent } from '../../core/contract/index.ts'
import { manageResource } from '../../core/resources/endpoints.ts'
import { Callers } from '../../projections/callers.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import { GatewayState } from '../../projections/state.ts'
import { createDiffEndpoint, createHistoryEndpoints, describeLostRace } from '../audit/index.ts'
import {
  createBatchEndpoint,
  createRuleEndpoints,
  type RuleHistoryServices,
  RuleScopes,
} from '../rules/index.ts'
import { createEffectiveRuleEndpoints } from './effective-rules.ts'
import { createGroupMemberEndpoints } from './group-members.ts'
import { groups as groupResource } from './groups.ts'
import { policies as policyResource } from './policies.ts'

/** Serves the endpoints for groups, policies and the rules of policies (docs/guides/policies.md). */
export default definePlugin({
  name: 'policies',
  after: ['auth', 'firewall', 'routing'],
  uses: { state: GatewayState, rules: RuleScopes, callers: Callers },
  setup(_, { use: { state, rules, callers } }) {
    return {
      endpoints: [
        ...createGroupEndpoints(state),
        ...createGroupMemberEndpoints(state),
        ...createPolicyEndpoints(state),
        ...createOperatorRuleEndpoints(rules.ofPolicies),
        ...createOperatorRuleEndpoints(rules.ofUsers),
        ...createEffectiveRuleEndpoints({ ...state, callers, kinds: rules.kinds }),
      ],
    }
  },
})

function createGroupEndpoints(services: GatewayState): readonly Endpoint[] {
  const { groups } = services
  const state = {
    find: groups.group,
    list: groups.groups,
    streamRevision: groups.revision,
    withoutEffect: ({ position }: RecordedEvent) => describeLostRace(groups.withoutEffect().get(position)),
  }
  return Object.values(manageResource(groupResource, state, services).endpoints)
}

function createPolicyEndpoints(services: GatewayState): readonly Endpoint[] {
  const { policy, policies, revision } = services.policies
  const state = { find: policy, list: policies, streamRevision: revision }
  return Object.values(manageResource(policyResource, state, services).endpoints)
}

/** The endpoints that users have for their own rules, for operators: for the rules of a policy or a user. */
function createOperatorRuleEndpoints(services: RuleHistoryServices): readonly Endpoint[] {
  const { kinds, commands, scope } = services
  return [
    ...RULE_KINDS.flatMap((kind) => [
      ...createRuleEndpoints(kinds[kind], services),
      ...createHistoryEndpoints(kinds[kind], services),
    ]),
    createBatchEndpoint(scope, kinds, commands, services),
    createDiffEndpoint(services),
  ]
}
