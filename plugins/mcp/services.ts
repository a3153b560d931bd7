import {
  type MaybePromise,
  type RuleOrigin,
  type RuleTraceEntry,
  service,
  type Warning,
} from '../../core/contract/index.ts'
import type { Approvals } from '../approvals/index.ts'
import type { ToolCaller, ToolRules } from '../tool-rules/index.ts'

type ToolScope = 'tool_call' | 'tool_result' | 'prompt'

interface Inspected {
  readonly json: string
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

export interface ToolFirewall {
  applies(caller: ToolCaller, scope: ToolScope): MaybePromise<boolean>
  inspect(caller: ToolCaller, scope: ToolScope, json: string): MaybePromise<Inspected>
}

export const ToolFirewall = service<ToolFirewall>('firewall.tools')

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
