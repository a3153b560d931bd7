import { type RuleOrigin, service, type Warning } from '../../core/contract/index.ts'
import type { Approvals } from '../approvals/index.ts'
import type { ToolFirewall } from '../firewall/index.ts'
import type { ToolRules } from '../tool-rules/index.ts'

export interface ToolCallRecord {
  /** `req_…` */
  readonly id: string
  readonly time: string
  readonly userId: number
  readonly keyId: string
  readonly sessionId?: string
  readonly server: string
  readonly tool: string
  readonly revision?: number
  readonly argumentsDigest: string
  readonly verdict:
    | 'allowed'
    | 'denied'
    | 'hidden'
    | 'pending_approval'
    | 'approved'
    | 'blocked'
    | 'not_served'
    | 'failed'
  readonly errorCode?: string
  readonly rules: readonly {
    readonly kind: string
    readonly id: number
    readonly name: string
    readonly action: string
    readonly origin?: RuleOrigin
  }[]
  readonly warnings: readonly Warning[]
  readonly requestBytes: number
  readonly resultBytes: number
  readonly durationMs: number
  readonly upstreamMs: number
  readonly rulesPosition: number
  readonly read: readonly string[]
}

export const ToolCallLedger = service<{ record(call: ToolCallRecord): void }>('ledger.tool-calls')

/** What decides about calls. All are missing if their plugins are not listed. */
export interface Deciders {
  readonly rules: ToolRules | undefined
  readonly firewall: ToolFirewall | undefined
  readonly approvals: Approvals | undefined
  readonly ledger: { record(call: ToolCallRecord): void } | undefined
}
