import type { Exchange, FirewallRule } from '../../core/contract/index.ts'
import type { CompiledFirewallRule } from './compile.ts'
import { type FirewallOutcome, unfinishedWarning } from './evaluate.ts'
import { type FirewallRefusal, refuseBy, toRefusalError } from './refusal.ts'

/** Records what rules did to a reply, on its exchange: each rule once, however often it matched. */
export interface ReplyReport {
  addApplied(compiled: CompiledFirewallRule): void
  /** Records that a pattern did not finish. Throws the refusal unless the rule only warns, or is ignored. */
  addUnfinished(compiled: CompiledFirewallRule): void
  /** Records the outcome of an evaluation. Throws its refusal. */
  addOutcome(outcome: FirewallOutcome): void
  refuse(refusal: FirewallRefusal): never
}

export function createReplyReport(
  { trace, warnings }: Pick<Exchange, 'trace' | 'warnings'>,
  onTimeout: 'refuse' | 'allow',
  logUnfinished: (rules: readonly FirewallRule[]) => void,
): ReplyReport {
  const reported = new Set<string>()
  const isFirst = (kind: string, text: string | number) => {
    const key = `${kind} ${text}`
    return !reported.has(key) && reported.add(key) !== undefined
  }
  function refuse(refusal: FirewallRefusal): never {
    throw toRefusalError(refusal)
  }
  return {
    addApplied({ rule, applied, warning }) {
      if (!isFirst('applied', rule.id)) return
      trace.push(applied)
      if (rule.action === 'warn' && isFirst('warning', warning.message)) warnings.push(warning)
    },
    addUnfinished(compiled) {
      const { rule, applied } = compiled
      if (isFirst('unfinished', rule.id)) {
        trace.push({ ...applied, outcome: 'skipped', reason: 'time_limit' })
        logUnfinished([rule])
      }
      if (rule.action !== 'warn' && onTimeout === 'refuse') refuse(refuseBy(compiled, 'unfinished'))
      const warning = unfinishedWarning(compiled)
      if (isFirst('warning', warning.message)) warnings.push(warning)
    },
    addOutcome(outcome) {
      for (const entry of outcome.trace) {
        const kind = entry.outcome === 'applied' ? 'applied' : (entry.reason ?? entry.outcome)
        if (isFirst(kind, entry.rule_id)) trace.push(entry)
      }
      for (const warning of outcome.warnings) if (isFirst('warning', warning.message)) warnings.push(warning)
      if (outcome.unfinished.length > 0) logUnfinished(outcome.unfinished)
      if (outcome.refusal !== undefined) refuse(outcome.refusal)
    },
    refuse,
  }
}
