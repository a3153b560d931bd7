import type { RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import type { FirewallOutcome } from './evaluate.ts'

/** Where an outcome is recorded. */
export interface OutcomeRecord {
  readonly warnings: Warning[]
  readonly trace: RuleTraceEntry[]
}

/** Adds what rules did. `isAgain`: they have looked before, so only what is new is added. */
export function recordOutcome(record: OutcomeRecord, outcome: FirewallOutcome, isAgain: boolean): void {
  const { warnings, trace } = outcome
  record.warnings.push(...(isAgain ? newWarnings(warnings, record.warnings) : warnings))
  record.trace.push(...(isAgain ? newEntries(trace, record.trace) : trace))
}

/** The entries for rules that did not act before, marked as those of a later look. */
function newEntries(
  trace: readonly RuleTraceEntry[],
  known: readonly RuleTraceEntry[],
): readonly RuleTraceEntry[] {
  const isKnown = ({ rule_id: id, outcome }: RuleTraceEntry) =>
    known.some((entry) => entry.kind === 'firewall' && entry.rule_id === id && entry.outcome === outcome)
  return trace.filter((entry) => !isKnown(entry)).map((entry) => ({ reason: 'after_masks', ...entry }))
}

function newWarnings(warnings: readonly Warning[], known: readonly Warning[]): readonly Warning[] {
  return warnings.filter(({ message }) => !known.some((warning) => warning.message === message))
}
