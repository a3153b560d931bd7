import type { RecordedEvent } from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import { createMetadata } from '../../core/events/codec.ts'
import { createClock } from '../../core/util/clock.ts'
import { type DomainEvent, EVENTS } from '../../projections/events/registry.ts'
import type { ToolContent } from '../../projections/events/rules.ts'

/**
 * Records events as a log would: each in its stream, with consecutive revisions. Their time is always the
 * same.
 */
export function recordAll(events: readonly DomainEvent[]): readonly RecordedEvent[] {
  const revisions = new Map<string, number>()
  const clock = createClock(() => Date.UTC(2025, 2, 1))
  return events.map((event, index) => {
    const stream = streamOf(event)
    const revision = (revisions.get(stream) ?? -1) + 1
    revisions.set(stream, revision)
    const metadata = createMetadata({ actor: ROOT_ACTOR }, clock())
    return { type: event.type, data: event.data, stream, revision, position: index + 1, metadata }
  })
}

/** The stream that an event is written to. */
export function streamOf(event: DomainEvent): string {
  return EVENTS.declarationOf(event).streamOf(event.data)
}

/** Builds a history of `users` users that contains every type of event and changed rules of every user. */
export function buildHistory(users: number, turns: number): readonly DomainEvent[] {
  const events: DomainEvent[] = []
  for (let userId = 1; userId <= users; userId++) {
    events.push({ type: 'IdsReserved', data: { first: userId, count: 1 } })
    events.push({ type: 'UserCreated', data: { userId, name: `Zoë ${userId}`, plan: 'paid' } })
    const keys = [`key_a${userId}`, `key_b${userId}`]
    for (const keyId of keys)
      events.push({ type: 'KeyIssued', data: { userId, keyId, hash: `hash of ${keyId}` } })
    events.push({ type: 'KeyRevoked', data: { userId, keyId: `key_b${userId}` } })
    if (userId % 3 === 0) {
      const budget = { limitUsd: userId, period: 'month', onExceed: 'refuse' } as const
      events.push({ type: 'PlanChanged', data: { userId, plan: 'free' } })
      events.push({ type: 'TokenLimitChanged', data: { userId, tokensPerMinute: 5000 } })
      events.push({ type: 'BudgetSet', data: { userId, keyId: keys[0] as string, budget } })
      events.push({ type: 'OverallBudgetSet', data: { budget } })
      events.push({ type: 'ShadowBudgetSet', data: { budget } })
    }
  }
  for (let turn = 0; turn < turns; turn++) {
    for (let userId = 1; userId <= users; userId++)
      events.push(...changeRules(userId, users + turn * users * 2, turn))
  }
  const groupIds = [1_000_001, 1_000_002]
  for (const groupId of groupIds) {
    events.push({ type: 'GroupCreated', data: { groupId, name: `Gruppe ${groupId}`, description: null } })
    events.push({ type: 'GroupUpdated', data: { groupId, changes: { description: 'für alle' } } })
    for (let userId = 1; userId <= users; userId += 2)
      events.push({ type: 'UserAddedToGroup', data: { userId, groupId } })
    events.push({ type: 'UserRemovedFromGroup', data: { userId: 1, groupId } })
  }
  events.push({ type: 'GroupDeleted', data: { groupId: groupIds[1] as number } })
  for (const policyId of [2_000_001, 2_000_002]) {
    const appliesTo = policyId % 2 === 0 ? ({ everyone: true } as const) : { groups: groupIds, users: [1] }
    const content = {
      name: `Richtlinie ${policyId}`,
      description: null,
      isEnabled: true,
      priority: 1,
      appliesTo,
    }
    events.push({ type: 'PolicyCreated', data: { policyId, ...content } })
    const rule = { name: 'Schutz', is_enabled: true, priority: 0, match_json: {}, action_json: {} }
    events.push({ type: 'RoutingRuleCreated', data: { policyId, ruleId: policyId + 10, content: rule } })
    events.push({ type: 'PolicyUpdated', data: { policyId, changes: { priority: 2 } } })
  }
  events.push({ type: 'PolicyDeleted', data: { policyId: 2_000_002 } })
  events.push(...trainRouter())
  return events
}

function trainRouter(): readonly DomainEvent[] {
  const scope = { everyone: true } as const
  const models = { 'größe-1': { ratings: 120 } }
  const judged = { figures: { apgr: 0.6 }, trainedFrom: { ratings: 120 } }
  const weights = { checksum: 'sum', bytes: 100, weightsLeaf: 'a'.repeat(64) }
  const router = { scope, models, ...judged, featureKeyId: 'key', ...weights }
  return [
    { type: 'RouterTrained', data: { version: 1, ...router } },
    { type: 'RouterTrained', data: { version: 2, ...router } },
    { type: 'RouterActivated', data: { version: 1, scope } },
    { type: 'RouterActivated', data: { version: 2, scope } },
    { type: 'RouterRolledBack', data: { scope, from: 2, version: 1 } },
  ]
}

function changeRules(userId: number, lastId: number, turn: number): readonly DomainEvent[] {
  const ruleId = lastId + 2 * userId
  const general = { name: `rule “${ruleId}”`, is_enabled: turn % 2 === 0, priority: turn % 5 }
  const document = { match_json: { contains: ['ü', 'plan'] }, action_json: { set_mode: 'cost' } }
  const pattern = {
    scope: 'prompt',
    type: 'substring',
    pattern: 'geheim',
    action: 'mask',
    replacement: null,
  } as const
  const events: DomainEvent[] = [
    { type: 'IdsReserved', data: { first: ruleId - 1, count: 2 } },
    {
      type: 'RoutingRuleCreated',
      data: { userId, ruleId: ruleId - 1, content: { ...general, ...document } },
    },
    { type: 'FirewallRuleCreated', data: { userId, ruleId, content: { ...general, ...pattern } } },
    { type: 'RoutingRuleUpdated', data: { userId, ruleId: ruleId - 1, changes: { priority: 9 } } },
    { type: 'FirewallRuleUpdated', data: { userId, ruleId, changes: { pattern: 'secret' } } },
  ]
  if (turn % 2 === 0) events.push(...changeToolRules(userId, ruleId + 5_000_000, general))
  if (turn % 3 === 1) events.push({ type: 'RoutingRuleDeleted', data: { userId, ruleId: ruleId - 1 } })
  if (turn % 3 === 2) events.push({ type: 'FirewallRuleDeleted', data: { userId, ruleId } })
  return events
}

/** One rule stays, another one goes. */
function changeToolRules(
  userId: number,
  ruleId: number,
  general: Pick<ToolContent, 'name' | 'is_enabled' | 'priority'>,
): readonly DomainEvent[] {
  const content = { ...general, match: { tool: 'löschen_*' }, action: 'deny' } as const
  return [
    { type: 'ToolRuleCreated', data: { userId, ruleId, content } },
    { type: 'ToolRuleCreated', data: { userId, ruleId: ruleId + 1, content } },
    { type: 'ToolRuleUpdated', data: { userId, ruleId, changes: { action: 'hide' } } },
    { type: 'ToolRuleDeleted', data: { userId, ruleId: ruleId + 1 } },
  ]
}
