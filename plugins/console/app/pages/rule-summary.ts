import type { Rule } from '../lib/types.ts'
import { formatValue } from '../ui/diff.tsx'

/** What a rule looks for and does, in a line. */
export function summarizeRule(rule: Partial<Rule>): string {
  if (rule.pattern !== undefined) {
    const where = rule.scope === 'response' ? ' in replies' : ''
    const what = rule.type === 'substring' ? `“${rule.pattern}”` : `${rule.type} ${rule.pattern}`
    return what + where
  }
  // Users do not see what rules of a policy look for, unless it shows that.
  if (rule.match_json === undefined) return 'only its name is shown'
  const isAlways = Object.keys(rule.match_json).length === 0
  return `${isAlways ? 'always' : formatValue(rule.match_json)} → ${formatValue(rule.action_json)}`
}
