import { type RuleTraceEntry, slot, type Target } from '../../core/contract/index.ts'
import type { LedgerRecord } from './store/record.ts'

/** The model that a recorded request was kept at. */
interface KeptTarget {
  readonly mode: string | null
  readonly provider: string
  readonly model: string
}

/** Set when a recorded request is decided again: its conversation is forgotten by then. */
export const RecordedKept = slot<KeptTarget>('ledger.recorded-kept')

const KIND = 'sticky'
const REASON = 'kept_for_prompt_cache'

/** One for each model, because records share equal lists. */
const entries = new Map<string, RuleTraceEntry>()

/** Returns the entry of the trace that says, and records, that a request was kept at a model. */
export function keptEntryOf({ provider, model, entry }: Target): RuleTraceEntry {
  const arm = `${provider}/${entry?.id ?? model}`
  const known = entries.get(arm)
  if (known !== undefined) return known
  const created: RuleTraceEntry = {
    ...{ kind: KIND, rule_id: 0, name: 'routing.sticky', action: 'keep_model', outcome: 'applied' as const },
    ...{ reason: REASON, arm },
  }
  // Its keys are models of the catalogue.
  entries.set(arm, created)
  return created
}

/** Returns the model that a recorded request was kept at; undefined if it was not. */
export function findRecordedKept({
  rules,
  mode,
}: Pick<LedgerRecord, 'rules' | 'mode'>): KeptTarget | undefined {
  const arm = rules.find(({ kind, reason }) => kind === KIND && reason === REASON)?.arm
  if (arm === undefined) return undefined
  const end = arm.indexOf('/')
  return { mode, provider: arm.slice(0, end), model: arm.slice(end + 1) }
}
