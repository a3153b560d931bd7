import type { RecordedEvent } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { isRuleEvent, rulesStream } from '../../projections/events/rules.ts'
import { userStream } from '../../projections/events/users.ts'
import type { PastEvent } from '../../projections/past-events.ts'

/**
 * Records events about user 1 by `key_a`, at positions 10, 20, 30, … and one per minute, starting at 10:01.
 */
export function pastEvents(...events: readonly DomainEvent[]): readonly PastEvent[] {
  return events.map((event, index) => ({ event, record: recordEvent(event, index + 1) }))
}

/** The time of the nth event. */
export function minute(n: number): string {
  return `2026-11-20T10:${String(n).padStart(2, '0')}:00.000000Z`
}

export const created = (ruleId: number, more: object = {}): DomainEvent => ({
  type: 'RoutingRuleCreated',
  data: { userId: 1, ruleId, content: { ...CONTENT, ...more } },
})

export const updated = (ruleId: number, changes: object): DomainEvent => ({
  type: 'RoutingRuleUpdated',
  data: { userId: 1, ruleId, changes },
})

export const deleted = (ruleId: number): DomainEvent => ({
  type: 'RoutingRuleDeleted',
  data: { userId: 1, ruleId },
})

export const firewallCreated = (ruleId: number): DomainEvent => ({
  type: 'FirewallRuleCreated',
  data: {
    userId: 1,
    ruleId,
    content: {
      name: 'A firewall rule',
      is_enabled: true,
      priority: 0,
      scope: 'prompt',
      type: 'substring',
      pattern: 'secret',
      action: 'mask',
      replacement: null,
    },
  },
})

export const userCreated: DomainEvent = {
  type: 'UserCreated',
  data: { userId: 1, name: 'Ada', plan: 'paid' },
}

export const planChanged = (plan: 'free' | 'paid'): DomainEvent => ({
  type: 'PlanChanged',
  data: { userId: 1, plan },
})

export const keyIssued = (keyId: string): DomainEvent => ({
  type: 'KeyIssued',
  data: { userId: 1, keyId, hash: 'f'.repeat(64) },
})

export const keyRevoked = (keyId: string): DomainEvent => ({
  type: 'KeyRevoked',
  data: { userId: 1, keyId },
})

const CONTENT = { name: 'A route', is_enabled: true, priority: 0, match_json: {}, action_json: {} }

function recordEvent(event: DomainEvent, n: number): RecordedEvent {
  return {
    type: event.type,
    data: event.data,
    stream: isRuleEvent(event) ? rulesStream(1) : userStream(1),
    revision: n,
    position: n * 10,
    metadata: {
      actor: { type: 'key', id: 'key_a', name: 'Ada' },
      requestId: `req_${n}`,
      time: minute(n),
      schema: 1,
    },
  }
}
