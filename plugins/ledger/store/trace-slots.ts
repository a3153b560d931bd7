import { slotOf } from './record-id.ts'
import type { RecordRows } from './rows.ts'
import type { TraceSlotRow } from './tables.ts'

/** Slots above which what is known is dropped. Storing one again changes nothing. */
const MAX_KNOWN = 20_000

/**
 * Finds the traces of a batch that have not yet been stored for their slot of time. See
 * docs/decisions/ledger.md, "Rules are recorded as a trace".
 */
export class TraceSlots {
  readonly #stored = new Set<string>()

  /** In the order of the key, so that gateways that write at the same time lock rows in the same order. */
  findNew(rows: readonly RecordRows[]): readonly TraceSlotRow[] {
    const found = new Map<string, readonly TraceSlotRow[]>()
    for (const { request, rules } of rows) {
      const { id, trace } = request
      if (trace === null || rules.length === 0) continue
      const slot = slotOf(id)
      const name = nameOf({ slot, trace })
      if (!this.#stored.has(name) && !found.has(name)) found.set(name, toSlotRows(trace, slot, rules))
    }
    return [...found.values()].flat().sort(compareSlots)
  }

  /** Call it when the rows are on disk. */
  addStored(rows: readonly TraceSlotRow[]): void {
    if (this.#stored.size > MAX_KNOWN) this.#stored.clear()
    for (const row of rows) this.#stored.add(nameOf(row))
  }
}

function nameOf({ slot, trace }: Pick<TraceSlotRow, 'slot' | 'trace'>): string {
  return `${slot} ${trace}`
}

/** In place of the id of a rule in rows for actions. Plugins have rules without an id, which are 0. */
export const ANY_RULE = -1

/** One row for each rule, and one for each action. */
export function toSlotRows(trace: number, slot: number, rules: RecordRows['rules']): readonly TraceSlotRow[] {
  const rows = new Map<string, TraceSlotRow>()
  for (const { kind, rule_id, action } of rules) {
    rows.set(`${kind} ${rule_id}`, { kind, rule_id, slot, trace })
    rows.set(`${action} ${ANY_RULE}`, { kind: action, rule_id: ANY_RULE, slot, trace })
  }
  return [...rows.values()]
}

/** The order in which rows are locked. */
export function compareSlots(a: TraceSlotRow, b: TraceSlotRow): number {
  return a.kind - b.kind || a.rule_id - b.rule_id || a.slot - b.slot || a.trace - b.trace
}
