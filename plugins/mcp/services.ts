import type { Approvals } from '../approvals/index.ts'
import type { ToolFirewall } from '../firewall/index.ts'
import type { ToolCallLedger } from '../ledger/index.ts'
import type { ToolCallLimit } from '../rate-limit/index.ts'
import type { ToolRules } from '../tool-rules/index.ts'

/** What decides about calls. All are missing if their plugins are not listed. */
export interface Deciders {
  readonly rules: ToolRules | undefined
  readonly firewall: ToolFirewall | undefined
  readonly callLimit: ToolCallLimit | undefined
  readonly approvals: Approvals | undefined
  readonly ledger: ToolCallLedger | undefined
}
