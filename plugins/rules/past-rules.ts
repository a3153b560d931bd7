import type { RuleSet } from '../../core/contract/index.ts'
import type { AsOf } from '../../core/util/as-of.ts'
import type { RuleOwner } from '../../projections/events/rules.ts'
import type { RuleKindName } from '../../projections/rules.ts'

/** Rules of one kind as of a point in time. */
export interface PastRulesQuery {
  readonly owner: RuleOwner
  readonly kind: RuleKindName
  readonly asOf: AsOf
}

/** Reads past rules. Both methods throw 400 if `asOf` is in the future. */
export interface PastRules {
  /** Resolves with the JSON text of `{data: […]}`: the rules in evaluation order, as the API shows them. */
  list(query: PastRulesQuery, signal: AbortSignal): Promise<Uint8Array>
  /** Resolves with a rule set that holds the rule, or nothing if it did not exist. */
  find(query: PastRulesQuery & { readonly ruleId: number }, signal: AbortSignal): Promise<RuleSet>
}
