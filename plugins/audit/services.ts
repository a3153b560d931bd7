import type { Accounts } from '../../projections/accounts.ts'
import type { Callers } from '../../projections/callers.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Policies } from '../../projections/policies.ts'
import type { Timeline } from '../../projections/timeline.ts'
import type { Evidence } from '../../projections/transparency/evidence.ts'
import type { RouterReplay } from '../learned-routing/index.ts'
import type { StoredRecord, StoredToolCall } from '../ledger/index.ts'
import type { ToolDecisions } from '../mcp/index.ts'
import type { Responses } from '../responses/index.ts'
import type { RuleCommandSet, RuleHistoryServices } from '../rules/index.ts'

/** The services that the audit plugin depends on. */
export interface AuditServices extends RuleHistoryServices {
  readonly accounts: Pick<Accounts, 'ownerOfKey' | 'user'>
  readonly groups: Pick<Groups, 'withoutEffect'>
  readonly policies: Pick<Policies, 'policy' | 'policies' | 'rulesOf'>
  readonly policyCommands: RuleCommandSet
  readonly timeline: Pick<Timeline, 'marks'>
  readonly callers: Callers
  readonly evidence: Evidence
  /** Undefined while learned routing is off. */
  readonly replay?: Pick<RouterReplay, 'prepare'> | undefined
  /** Undefined if the gateway serves no tools. */
  readonly toolDecisions?: ToolDecisions | undefined
  /** Finds a stored response of a user. */
  readonly findResponse: Responses['find']
  /** Finds a recorded call of a tool, with its arguments if they are recorded. */
  findToolCall(requestId: string): Promise<StoredToolCall | undefined>
  /** Finds a record of the request ledger. */
  findRequest(requestId: string): Promise<StoredRecord | undefined>
}
