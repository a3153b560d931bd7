import { type Accounts, createAccounts } from './accounts.ts'
import { createIds, type Ids } from './ids.ts'
import { createRulesProjection, type Rules } from './rules.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** All state that is rebuilt from the event log, except that of plugins. */
export interface Projections {
  readonly accounts: Accounts
  readonly rules: Rules
  readonly ids: Ids
}

/** Creates the state before the first event. */
export function createProjections(): Projections {
  return { accounts: createAccounts(), rules: createRulesProjection(), ids: createIds() }
}

/** All projections, in the order in which they receive events and are saved in snapshots. */
export function listProjections({ accounts, rules, ids }: Projections): readonly SavedProjection[] {
  return [accounts, rules, ids]
}
