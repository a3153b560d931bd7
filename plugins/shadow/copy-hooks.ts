import type { EndedExchange, MaybePromise } from '../../core/contract/index.ts'

/** A copy whose reply was read, or that failed. */
export interface EndedCopy {
  readonly exchange: EndedExchange
  /** Undefined if it was answered. */
  readonly error: unknown
}

/** What other plugins do about copies, if they are listed. They set their functions at the start. */
export interface CopyHooks {
  /** Throws a `GatewayError` if the budgets do not cover the copy. Set by `budget`. */
  reserve?: (exchange: EndedExchange) => MaybePromise<void>
  /** Set by `budget`. */
  settle?: (exchange: EndedExchange) => void
  /** Set by `ledger`. */
  record?: (copy: EndedCopy) => void
}
