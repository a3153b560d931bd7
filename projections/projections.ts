import { type Accounts, createAccounts } from './accounts.ts'
import { type Approvals, createApprovals } from './approvals.ts'
import { createGrants, type Grants } from './grants.ts'
import { createGroups, type Groups } from './groups.ts'
import { createIdempotentRequests, type IdempotentRequests } from './idempotency.ts'
import { createIdentities, type Identities } from './identities.ts'
import { createIds, type Ids } from './ids.ts'
import { createOperatorAccounts, type OperatorAccounts } from './operator-accounts.ts'
import { createOverallBudget, type OverallBudget } from './overall-budget.ts'
import { createPolicies, type Policies } from './policies.ts'
import { createRouters, type Routers } from './routers.ts'
import { createRulesProjection, type Rules } from './rules.ts'
import type { SavedProjection, SavedState } from './runtime/projection.ts'
import { createStreamHealth, type StreamHealth } from './runtime/stream-health.ts'
import { createTimeline, type Timeline } from './timeline.ts'
import { createToolServers, type ToolServers } from './tool-servers.ts'

/** All state that is rebuilt from the event log, except that of plugins. */
export interface Projections {
  readonly accounts: Accounts
  readonly rules: Rules
  readonly groups: Groups
  readonly policies: Policies
  readonly ids: Ids
  readonly identities: Identities
  readonly grants: Grants
  readonly approvals: Approvals
  readonly overallBudget: OverallBudget
  readonly operators: OperatorAccounts
  readonly routers: Routers
  readonly timeline: Timeline
  readonly toolServers: ToolServers
  readonly streams: StreamHealth
  readonly idempotency: IdempotentRequests
}

/** Creates the state before the first event. */
export function createProjections(): Projections {
  const policies = createPolicies()
  return {
    accounts: createAccounts(),
    rules: createRulesProjection(),
    groups: createGroups((groupId) => policies.policyOfGroup(groupId)?.id),
    policies,
    ids: createIds(),
    identities: createIdentities(),
    grants: createGrants(),
    approvals: createApprovals(),
    overallBudget: createOverallBudget(),
    operators: createOperatorAccounts(),
    routers: createRouters(),
    timeline: createTimeline(),
    toolServers: createToolServers(),
    idempotency: createIdempotentRequests(),
    streams: createStreamHealth(),
  }
}

/** All projections that are folded from domain events, in the order in which they receive them. */
export function listProjections(projections: Projections): readonly SavedProjection[] {
  const { accounts, rules, groups, policies, ids, overallBudget, operators, routers } = projections
  const { identities, grants, approvals, toolServers, timeline, idempotency } = projections
  return [
    ...[accounts, rules, groups, policies, ids, overallBudget, operators, routers],
    ...[identities, grants, approvals, toolServers, timeline, idempotency],
  ]
}

/** Everything that is saved in snapshots. */
export function listSaved(projections: Projections): readonly SavedState[] {
  return [...listProjections(projections), projections.streams]
}
