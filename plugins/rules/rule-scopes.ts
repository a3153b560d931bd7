import { service } from '../../core/contract/index.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import type { RuleOwner } from '../../projections/events/rules.ts'
import type { History } from '../../projections/history.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { RuleCommandSet } from './batch.ts'
import type { RuleKinds } from './diff-rules.ts'
import type { PastRules } from './past-rules.ts'
import type { RuleServices } from './rule-commands.ts'
import type { RuleScope } from './rule-scope.ts'

/** The filters and the page of `GET /v1/audit`. */
export interface AuditQuery {
  /** Inclusive, like `until`. */
  readonly since: AsOf | undefined
  readonly until: AsOf | undefined
  readonly actor: string | undefined
  readonly kind: string | undefined
  readonly limit: number
  /** Only entries before this position. */
  readonly below: number
}

interface OwnerQuery {
  readonly owner: RuleOwner
}

/** What is read from the events of one owner. Texts are bodies in JSON. */
export interface RuleHistory extends PastRules {
  /** `{data: {from, to, routing, firewall}}`. Throws 400 if a point in time is in the future. */
  diff(query: OwnerQuery & { from: AsOf; to: AsOf | undefined }, signal: AbortSignal): Promise<Uint8Array>
  /** `{data: [change…]}` of one rule; undefined if there was no such rule. */
  changes(
    query: OwnerQuery & { kind: RuleKindName; ruleId: number },
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>
  /** `{data: [change…], next_cursor}`: a page of all changes. */
  page(query: OwnerQuery & { filter: AuditQuery }, signal: AbortSignal): Promise<Uint8Array>
}

/** What the history of rules depends on, those of users or those of policies. */
export interface RuleHistoryServices extends RuleServices {
  readonly scope: RuleScope
  readonly history: History
  readonly past: RuleHistory
  readonly subscription: Subscription
  readonly kinds: RuleKinds
  readonly commands: RuleCommandSet
}

/** The rules of users and of policies, with their history. The gateway creates them. */
export interface RuleScopes {
  readonly kinds: RuleKinds
  /** As users change their own. */
  readonly own: RuleHistoryServices
  /** As operators change those of users. */
  readonly ofUsers: RuleHistoryServices
  readonly ofPolicies: RuleHistoryServices
}

export const RuleScopes = service<RuleScopes>('rules.scopes')
