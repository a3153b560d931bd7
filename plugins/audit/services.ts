import type { Account } from '../../core/contract/index.ts'
import type { CallerSnapshot } from '../../core/http/exchange.ts'
import type { Subscription } from '../../projections/live.ts'
import type { History } from '../../projections/past.ts'
import type { RuleCommandSet } from '../rules/batch.ts'
import type { RuleServices } from '../rules/carry-out.ts'
import type { RuleKinds } from './kinds.ts'

/** What the audit plugin works with. */
export interface AuditServices extends RuleServices {
  readonly past: History
  readonly live: Subscription
  readonly kinds: RuleKinds
  readonly desks: RuleCommandSet
  /** The caller's account and rules as a request that comes now would have them. */
  pin(account: Account): CallerSnapshot
}
