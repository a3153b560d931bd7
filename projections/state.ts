import { type EventLog, service } from '../core/contract/index.ts'
import type { FindKnownRequest } from '../core/http/change-headers.ts'
import type { Accounts } from './accounts.ts'
import type { Approvals } from './approvals.ts'
import type { Grants } from './grants.ts'
import type { Groups } from './groups.ts'
import type { StreamHistory } from './history.ts'
import type { Identities } from './identities.ts'
import type { IdSource } from './ids.ts'
import type { OperatorAccounts } from './operator-accounts.ts'
import type { OverallBudget } from './overall-budget.ts'
import type { Policies } from './policies.ts'
import type { Routers } from './routers.ts'
import type { Rules } from './rules.ts'
import type { StreamHealth } from './runtime/stream-health.ts'
import type { Subscription } from './runtime/subscribe.ts'
import type { EventWriter } from './runtime/write.ts'
import type { Timeline } from './timeline.ts'
import type { ToolServers } from './tool-servers.ts'
import type { Evidence } from './transparency/evidence.ts'

/** The event log and everything that is derived from it. Created by the gateway. */
export interface GatewayState {
  /** Id of the event log. */
  readonly logId: string
  /** Refuses calls while the log is unavailable. */
  readonly log: EventLog
  readonly subscription: Subscription
  readonly accounts: Accounts
  readonly rules: Rules
  readonly groups: Groups
  readonly policies: Policies
  readonly streams: StreamHealth
  readonly ids: IdSource
  readonly identities: Identities
  readonly grants: Grants
  readonly approvals: Approvals
  readonly overallBudget: OverallBudget
  readonly writer: EventWriter
  readonly operators: OperatorAccounts
  readonly timeline: Timeline
  readonly routers: Routers
  readonly toolServers: ToolServers
  readonly history: StreamHistory
  readonly findKnownRequest: FindKnownRequest
  readonly evidence: Evidence
  /** Names of files of the data folder that are damaged, or were and have been set aside. */
  readonly damagedFiles: () => Promise<readonly string[]>
}

export const GatewayState = service<GatewayState>('state')
