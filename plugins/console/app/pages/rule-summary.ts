import type { Rule } from '../lib/types.ts'

/** What a rule looks for and does, in a line. */
export function summarizeRule(rule: Partial<Rule>): string {
  if (rule.pattern !== undefined) {
    const where = rule.scope === 'response' ? ' in replies' : ''
    const what = rule.type === 'substring' ? `“${rule.pattern}”` : `${rule.type} ${rule.pattern}`
    return what + where
  }
  // Users do not see what rules of a policy look for, unless it shows that.
  if (rule.match_json === undefined) return 'only its name is shown'
  const conditions = Object.entries(rule.match_json ?? {}).map(
    ([name, value]) => `${name} ${JSON.stringify(value)}`,
  )
  const actions = Object.entries(rule.action_json ?? {}).map(
    ([name, value]) => `${name} ${JSON.stringify(value)}`,
  )
  return `${conditions.join(' and ') || 'always'} → ${actions.join(', ')}`
}
