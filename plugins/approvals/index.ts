import { type Account, type JsonObject, service } from '../../core/contract/index.ts'
import type { ApprovalStatus, ApprovedCall } from '../../projections/events/approvals.ts'

/** A call of a tool that a rule does not let pass without an approval. */
export interface ApprovalRequest extends Omit<ApprovedCall, 'userId'> {
  /** Who calls the tool. */
  readonly account: Account
  readonly requestId: string
  readonly sessionId?: string | undefined
  /** The rule that requires the approval. */
  readonly rule: { readonly id: number; readonly name: string }
  /** Shown to operators, as the firewall left them. They are in no event, and expire with the approval. */
  readonly arguments?: JsonObject
}

export interface ClaimedApproval {
  readonly id: string
  /** `granted`: the approval is now used up, and the call may be sent. */
  readonly status: Exclude<ApprovalStatus, 'used'>
  /** ISO 8601, UTC. */
  readonly expiresAt: string
}

/** Approvals of tool calls by operators: for one call with these arguments under these rules, once. */
export interface Approvals {
  /**
   * Uses up an approval that was granted. Otherwise resolves with the one that is pending or was denied, and
   * asks for one if there is none, or it has expired. Rejects if the log is unavailable, and with 429 if too
   * many of the user are pending.
   */
  claim(request: ApprovalRequest): Promise<ClaimedApproval>
  /** The same, but uses nothing up: for calls that are made only if others are granted, too. */
  ask(request: ApprovalRequest): Promise<ClaimedApproval>
}

export const Approvals = service<Approvals>('approvals')
