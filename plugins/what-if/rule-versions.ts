import type { RuleSet } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { isRuleEvent, type RuleEvent } from '../../projections/events/rules.ts'
import { createPolicies, type Policies } from '../../projections/policies.ts'
import { applyRuleEvents } from '../../projections/rules.ts'
import type { CurrentCaller, WhatIfJob } from './job.ts'

/** The rules that apply to a user: those of policies in evaluation order, and the user's own. */
export interface RuleVersion {
  readonly policies: readonly RuleSet[]
  readonly rules: RuleSet
}

/** The rules of a user today and with the drafts; the same object if the drafts do not concern the user. */
export interface RuleVersions {
  readonly before: RuleVersion
  readonly after: RuleVersion
  readonly groups: Readonly<Record<'before' | 'after', readonly number[]>>
}

/** Whether a rule inspects replies. */
export function hasResponseRules({ policies, rules }: RuleVersion): boolean {
  return [...policies, rules].some(({ firewall }) =>
    firewall.some(({ scope, is_enabled }) => is_enabled && scope === 'response'),
  )
}

/** Arbitrary: no decision depends on when a rule was changed. */
const DRAFT = { revision: 0, metadata: { time: new Date(0).toISOString() } }

/** Folds policies as they are, and with the drafts, by the code that folds the events of the log. */
export class DraftedRules {
  readonly #before = createPolicies()
  readonly #after = createPolicies()
  readonly #changedPolicies = new Set<number>()
  readonly #ownRules = new Map<number, RuleEvent[]>()
  readonly #memberships: DomainEvent[] = []

  constructor({ policies, events }: Pick<WhatIfJob, 'policies' | 'events'>) {
    const lines = policies.map((line) => Buffer.from(line))
    for (const version of [this.#before, this.#after]) version.load(lines)
    for (const event of events) this.#apply(event)
  }

  #apply(event: DomainEvent): void {
    if ('policyId' in event.data) {
      this.#changedPolicies.add(event.data.policyId)
      applyDraft(this.#after, event)
    } else if (isRuleEvent(event)) {
      const { userId } = event.data
      this.#ownRules.set(userId, [...(this.#ownRules.get(userId) ?? []), event])
    } else this.#memberships.push(event)
  }

  /** Returns the versions for a user. To be kept: the rule sets are compiled by their identity. */
  versionsFor({ userId, groups, rules }: CurrentCaller): RuleVersions {
    const before = { policies: this.#before.ruleSetsFor(userId, groups), rules }
    const groupsAfter = this.#groupsAfter(userId, groups)
    const policies = this.#after.ruleSetsFor(userId, groupsAfter)
    const events = this.#ownRules.get(userId)
    const drafted = events && applyRuleEvents(rules, events, { ...DRAFT, position: 0, time: '' })
    const isSame =
      drafted === undefined &&
      policies.length === before.policies.length &&
      policies.every(
        ({ ownerId }, index) =>
          ownerId === before.policies[index]?.ownerId && !this.#changedPolicies.has(ownerId),
      )
    const after = isSame ? before : { policies, rules: drafted ?? rules }
    return { before, after, groups: { before: groups, after: groupsAfter } }
  }

  #groupsAfter(userId: number, groups: readonly number[]): readonly number[] {
    if (this.#memberships.length === 0) return groups
    const after = new Set(groups)
    for (const { type, data } of this.#memberships) {
      if (type === 'GroupDeleted') after.delete(data.groupId)
      if (type === 'UserAddedToGroup' && data.userId === userId) after.add(data.groupId)
      if (type === 'UserRemovedFromGroup' && data.userId === userId) after.delete(data.groupId)
    }
    return [...after].sort((a, b) => a - b)
  }
}

function applyDraft(policies: Policies, event: DomainEvent): void {
  const metadata = { ...DRAFT.metadata, version: 1, actor: { type: 'system', id: 'draft' } }
  policies.apply(event, { ...event, ...DRAFT, stream: '', position: 0, metadata } as never)
}
