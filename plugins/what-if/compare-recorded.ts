import type { RuleTraceEntry } from '../../core/contract/index.ts'
import type { StoredPrompt, StoredRecord } from '../ledger/index.ts'
import { type Decision, nameOf, responseKeysOf } from './decision.ts'
import type { CurrentCaller } from './job.ts'
import { isRefusedByLimit } from './limit-errors.ts'

/**
 * Why today's rules decide otherwise than what was recorded. `different`: for a reason that is not known,
 * such as other settings.
 */
export const DIFFERENCES = [
  'rules_changed',
  'recorded_masked',
  'left_out',
  'limits',
  'not_decided',
  'time_limit',
  'automatic_choice',
  'different',
] as const

export type Difference = (typeof DIFFERENCES)[number]

/** Compares the decision of today's rules with what was recorded. Undefined: it is the same. */
export function findDifference(
  record: StoredRecord,
  prompt: StoredPrompt,
  decision: Decision,
  caller: CurrentCaller,
): Difference | undefined {
  if (isReproduced(record, decision)) return undefined
  if (record.rulesPosition !== caller.rulesPosition) return 'rules_changed'
  if (prompt.mode === 'masked' && record.rules.some(isAppliedMask)) return 'recorded_masked'
  if ((prompt.content?.leftOut.length ?? 0) > 0) return 'left_out'
  // Limits were changed, or requests that count in them are not known, or ended in another order.
  if (isLimited(record) !== (decision.admitted.error !== undefined)) return 'limits'
  // Another plugin refused it, or the client left, before its model was chosen.
  if (decision.error === undefined && record.mode === null) return 'not_decided'
  if ([...record.rules, ...decision.trace].some(({ reason }) => reason === 'time_limit')) return 'time_limit'
  if (!decision.isFixed && isSameTrace(record, decision)) return 'automatic_choice'
  return 'different'
}

function isReproduced(record: StoredRecord, decision: Decision): boolean {
  if (!isSameTrace(record, decision) || !isSameReply(record, decision)) return false
  if (decision.error !== undefined) return record.error?.code === decision.error.code
  if (isLimited(record)) return false
  if (record.mode !== decision.mode) return false
  const [first = record] = record.attempts
  // Without a reply no target is recorded.
  return first.provider === null || nameOf(decision.target) === `${first.provider}/${first.model}`
}

function isLimited({ error }: StoredRecord): boolean {
  return error !== null && isRefusedByLimit(error.code)
}

/** A reply that is not known has nothing to compare. */
function isSameReply({ rules }: StoredRecord, { reply }: Decision): boolean {
  if (reply === undefined) return true
  const recorded = responseKeysOf(rules).all
  return recorded.size === reply.applied.all.size && [...recorded].every((key) => reply.applied.all.has(key))
}

function isAppliedMask({ kind, action, outcome, scope }: RuleTraceEntry): boolean {
  return kind === 'firewall' && action === 'mask' && outcome === 'applied' && scope === undefined
}

function isSameTrace({ rules }: StoredRecord, { trace }: Decision): boolean {
  return describeTrace(rules) === describeTrace(trace)
}

/** The kinds of rules that decide before a provider is called. */
const DECIDING: ReadonlySet<string> = new Set(['firewall', 'routing'])

function describeTrace(trace: readonly RuleTraceEntry[]): string {
  const entries = trace.filter(({ kind, scope }) => DECIDING.has(kind) && scope === undefined)
  return JSON.stringify(
    entries.map(({ kind, rule_id, action, outcome, reason }) => [kind, rule_id, action, outcome, reason]),
  )
}
