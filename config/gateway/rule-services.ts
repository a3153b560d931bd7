import type { OperatorRegistry } from '../../core/contract/index.ts'
import { createHistoryMethods } from '../../plugins/audit/history-methods.ts'
import { createRuleHistory } from '../../plugins/audit/history-reader.ts'
import type { HistoryThread } from '../../plugins/audit/history-thread.ts'
import { createUnknownKeyError } from '../../plugins/auth/authenticate.ts'
import { requireUser } from '../../plugins/auth/users.ts'
import { createFirewallRuleKind } from '../../plugins/firewall/rule-kind.ts'
import { policyNotFoundError } from '../../plugins/policies/policies.ts'
import { createPolicyScope } from '../../plugins/policies/policy-scope.ts'
import { createUserRulesScope } from '../../plugins/policies/user-rules-scope.ts'
import { createRoutingRuleKind } from '../../plugins/routing/rule-kind.ts'
import type { RuleCommandSet } from '../../plugins/rules/rule-commands.ts'
import {
  type CreateRuleCommands,
  createRuleCommands,
  type OwnedRules,
} from '../../plugins/rules/rule-commands.ts'
import type { RuleKind, RuleKinds } from '../../plugins/rules/rule-kind.ts'
import {
  OWN_RULES,
  type RuleHistoryServices,
  type RuleScope,
  type RuleScopes,
} from '../../plugins/rules/rule-scopes.ts'
import { toolRules } from '../../plugins/tool-rules/rule-kind.ts'
import { policyStream } from '../../projections/events/policies.ts'
import { rulesStream } from '../../projections/events/rules.ts'
import { createHistory, userStreams } from '../../projections/history.ts'
import type { ReadPastEvents } from '../../projections/past-events.ts'
import type { Settings } from '../settings/settings.ts'
import type { OpenState } from './state.ts'

type RuleState = Pick<
  OpenState,
  'log' | 'subscription' | 'accounts' | 'rules' | 'groups' | 'policies' | 'ids' | 'writer'
>

export function createRuleKinds(
  settings: Pick<Settings, 'firewall' | 'plugins'>,
  operators: OperatorRegistry,
): RuleKinds {
  return {
    routing: createRoutingRuleKind(operators),
    firewall: createFirewallRuleKind(
      settings.firewall.evaluate_responses,
      settings.plugins.some(({ use }) => use === 'mcp' || use === 'tool-rules'),
    ),
    tool: toolRules,
  }
}

/** What the endpoints for rules depend on: for users' own rules, and for those of policies. */
export function createRuleScopes(
  state: RuleState,
  kinds: RuleKinds,
  readPastEvents: ReadPastEvents,
  historyThread: HistoryThread | undefined,
): RuleScopes {
  const { log, subscription, accounts, rules, policies, ids, writer } = state

  const past = createRuleHistory({
    subscription,
    groups: state.groups,
    readHere: createHistoryMethods(readPastEvents, kinds),
    thread: historyThread,
    countEvents: (owner) =>
      'policyId' in owner
        ? policies.revision(owner.policyId)
        : rules.revision(owner.userId) + (accounts.user(owner.userId)?.revision ?? 0),
  })

  function createServices(
    scope: RuleScope,
    owned: OwnedRules,
    history: RuleHistoryServices['history'],
  ): RuleHistoryServices {
    const current = (ownerId: number) => () => owned.of(ownerId)
    const commandsOf =
      (kind: RuleKind): CreateRuleCommands =>
      (id, past) =>
        createRuleCommands(kind, past ?? current(id), owned.owner(id))
    const commands: RuleCommandSet = {
      routing: commandsOf(kinds.routing),
      firewall: commandsOf(kinds.firewall),
      tool: commandsOf(kinds.tool),
    }
    return { scope, rules: owned, ids, writer, history, past, subscription, kinds, commands }
  }

  const userRules: OwnedRules = {
    of: (userId) => rules.of(userId),
    owner: (userId) => ({ userId }),
    stream: rulesStream,
    revision: (userId) => rules.revision(userId),
    requireOwner: (userId) => void requireUser(accounts, userId),
  }
  const ownRules: OwnedRules = {
    ...userRules,
    requireOwner(userId) {
      if (accounts.user(userId) === undefined) throw createUnknownKeyError()
    },
  }
  const policyRules: OwnedRules = {
    of: (policyId) => policies.rulesOf(policyId),
    owner: (policyId) => ({ policyId }),
    stream: policyStream,
    revision: (policyId) => policies.revision(policyId),
    requireOwner(policyId) {
      if (policies.policy(policyId) === undefined) throw policyNotFoundError(String(policyId))
    },
  }
  const createHistoryOf = (streamsOf: (ownerId: number) => readonly string[]) =>
    createHistory(log, subscription, Date.now, (ownerId) => readPastEvents(streamsOf(ownerId)))
  const userHistory = createHistoryOf(userStreams)
  const policyHistory = createHistoryOf((policyId) => [policyStream(policyId)])
  return {
    kinds,
    own: createServices(OWN_RULES, ownRules, userHistory),
    ofUsers: createServices(createUserRulesScope(accounts, rules), userRules, userHistory),
    ofPolicies: createServices(createPolicyScope(policies), policyRules, policyHistory),
  }
}
