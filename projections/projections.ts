import { type Accounts, createAccounts } from './accounts.ts'
import { createIds, type Ids } from './ids.ts'
import type { SavedProjection } from './projection.ts'
import { createRules, type Rules } from './rules.ts'

/** Everything that is rebuilt from the event log. */
export interface Projections {
  readonly accounts: Accounts
  readonly rules: Rules
  readonly ids: Ids
}

/** The state before the first event. */
export function createProjections(): Projections {
  return { accounts: createAccounts(), rules: createRules(), ids: createIds() }
}

/** All of them, in the order in which they hear of an event and stand in a snapshot. */
export function listProjections({ accounts, rules, ids }: Projections): readonly SavedProjection[] {
  return [accounts, rules, ids]
}
