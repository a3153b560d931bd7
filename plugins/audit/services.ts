import type { Account } from '../../core/contract/index.ts'
import type { Pinned } from '../../core/http/exchange.ts'
import type { Live } from '../../projections/live.ts'
import type { Past } from '../../projections/past.ts'
import type { Desks } from '../rules/batch.ts'
import type { RuleServices } from '../rules/carry-out.ts'
import type { Kinds } from './kinds.ts'

/** What the audit plugin works with. */
export interface AuditServices extends RuleServices {
  readonly past: Past
  readonly live: Live
  readonly kinds: Kinds
  readonly desks: Desks
  /** The caller's account and rules as a request that comes now would have them. */
  pin(account: Account): Pinned
}
