import type { EventLog } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { History } from '../../projections/history.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { OverallBudget } from '../../projections/overall-budget.ts'
import type { Policies } from '../../projections/policies.ts'
import type { Rules } from '../../projections/rules.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { Timeline } from '../../projections/timeline.ts'
import type { Evidence } from '../../projections/transparency/evidence.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { Sessions } from '../auth/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { RuleKinds } from '../rules/index.ts'

/** What the overview depends on. */
export interface OverviewServices {
  /** Of the gateway. */
  readonly version: string
  readonly ledger: Ledger
  readonly log: Pick<EventLog, 'read' | 'subscribe'>
  readonly subscription: Pick<Subscription, 'state' | 'position' | 'newest' | 'until'>
  readonly streams: Pick<StreamHealth, 'damaged'>
  readonly timeline: Pick<Timeline, 'marks'>
  readonly evidence: Pick<Evidence, 'coverage' | 'contradiction'>
  readonly accounts: Pick<Accounts, 'users'>
  readonly operators: Pick<OperatorAccounts, 'byKeyHash' | 'find'>
  readonly sessions: Pick<Sessions, 'isCurrent'>
  readonly groups: Pick<Groups, 'groups' | 'withoutEffect'>
  readonly policies: Pick<Policies, 'policies' | 'policy' | 'rulesOf'>
  readonly rules: Pick<Rules, 'of'>
  readonly overallBudget: Pick<OverallBudget, 'current' | 'shadow'>
  readonly kinds: RuleKinds
  /** Past rules of users, and of policies. */
  readonly userHistory: Pick<History, 'eventsOf' | 'rulesOf'>
  readonly policyHistory: Pick<History, 'rulesOf'>
  readonly breakers: Pick<CircuitBreakers, 'circuits' | 'callerCircuits'>
  readonly providers: {
    /** Ids of all providers of the settings. */
    readonly ids: readonly string[]
    /** Whether requests can be sent to a provider. */
    isAvailable(id: string): boolean
    /** No provider has a key, and the sandbox answers. */
    readonly usesSandbox: boolean
  }
}
