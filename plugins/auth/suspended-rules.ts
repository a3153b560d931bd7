import type { Plan, RuleSet, Warning } from '../../core/contract/index.ts'
import { includesOwnRules } from '../../projections/accounts.ts'
import type { RuleKindName } from '../../projections/rules.ts'

/** More rules are counted, not named. */
const MAX_NAMED_RULES = 100

/**
 * Returns a warning for each enabled rule that stops applying with a change of the plan. See
 * docs/decisions/rules.md, "Rules are suspended by a downgrade, not deleted".
 */
export function listSuspendedRules(
  before: Plan,
  after: Plan,
  { firewall, routing, tool }: Pick<RuleSet, RuleKindName>,
): readonly Warning[] {
  if (!includesOwnRules(before) || includesOwnRules(after)) return []
  const names = [
    ...firewall.filter(({ is_enabled }) => is_enabled).map((rule) => describe('Firewall', rule)),
    ...routing.filter(({ is_enabled }) => is_enabled).map((rule) => describe('Routing', rule)),
    ...tool.filter(({ is_enabled }) => is_enabled).map((rule) => describe('Tool', rule)),
  ]
  const more = names.length - MAX_NAMED_RULES
  const named = names.slice(0, MAX_NAMED_RULES)
  const rest = more > 0 ? [`${more} more rules do not apply any more.`] : []
  return [...named, ...rest].map((message) => ({ code: 'plan', message }))
}

function describe(kind: string, { id, name }: { readonly id: number; readonly name: string }): string {
  return `${kind} rule ${id} "${name}" does not apply any more: custom rules require a paid plan.`
}
