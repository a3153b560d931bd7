import type { Account } from '../../core/contract/index.ts'
import type { CallerSnapshot } from '../../core/pipeline/inference.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { History } from '../../projections/history.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { Timeline } from '../../projections/timeline.ts'
import type { RuleCommandSet } from '../rules/batch.ts'
import type { RuleServices } from '../rules/rule-commands.ts'
import type { RuleKinds } from './diff-rules.ts'

/** The services that the audit plugin depends on. */
export interface AuditServices extends RuleServices {
  readonly accounts: Pick<Accounts, 'ownerOfKey'>
  readonly history: History
  readonly timeline: Pick<Timeline, 'marks'>
  readonly subscription: Subscription
  readonly kinds: RuleKinds
  readonly commands: RuleCommandSet
  /** The caller's account and rules as they apply to a request now. */
  snapshotCaller(account: Account): CallerSnapshot
}
