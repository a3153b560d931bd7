import type { Kysely, Transaction } from 'kysely'
import { addToUsage } from './add-to-usage.ts'
import { toAssumedCost } from './assumed-costs.ts'
import { sumUsage } from './batch-usage.ts'
import { type Dictionary, shorten } from './dictionary.ts'
import { insertAll, insertValues } from './insert-rows.ts'
import { numberRecords } from './number-records.ts'
import { type PromptCipher, toPromptRow } from './prompt-cipher.ts'
import type { RecordBatch } from './record-batch.ts'
import { nextRecordId, slotOf, timeOfRecordId, toRecordId } from './record-id.ts'
import {
  type AppliedRule,
  createValueBuilder,
  type PlacedRecords,
  sharedRowOf,
  toSharedRows,
} from './rows.ts'
import { noteSessions } from './sessions.ts'
import type { LedgerTables, TraceSlotRow } from './tables.ts'

/** What writing needs to know of earlier batches. */
export interface RecordStorage {
  readonly dictionary: Dictionary
  readonly slots: TraceSlots
  readonly cipher: PromptCipher | undefined
}

/**
 * Writes records and adds them to the usage, in one transaction. A record that is already there is skipped,
 * so that a batch whose outcome is unknown can be written again. `ids` are those of `toRecordIds`, `repeated`
 * the ids of requests whose prompts came again.
 */
export async function writeRecords(
  db: Kysely<LedgerTables>,
  storage: RecordStorage,
  batch: RecordBatch,
  ids: Float64Array,
  repeated: ReadonlySet<string>,
): Promise<void> {
  const { dictionary, slots } = storage
  await dictionary.add(batch, Date.now())
  let placed = moveDuplicates({ batch, ids, shared: toSharedRows(batch, dictionary) })
  for (let attempt = 1; placed.ids.length > 0; attempt++) {
    try {
      const slotRows = slots.findNew(placed)
      await db
        .transaction()
        .execute((transaction) => insertRecords(transaction, storage, placed, repeated, slotRows))
      slots.addStored(slotRows)
      return
    } catch (error) {
      if (!isUniqueViolation(error) || attempt === MAX_ATTEMPTS) throw error
      placed = await resolveConflicts(db, placed)
    }
  }
}

/** Throws a `RangeError` for a text that is not a request id. */
export function toRecordIds({ requestIds }: RecordBatch): Float64Array {
  const ids = new Float64Array(requestIds.length)
  for (let index = 0; index < ids.length; index++) {
    const id = toRecordId(requestIds[index] ?? '')
    if (id === undefined) throw new RangeError(`"${requestIds[index]}" is not a request id`)
    ids[index] = id
  }
  return ids
}

/** Other gateways that write to the same database may take an id at the same time. */
const MAX_ATTEMPTS = 10

/** Gives each request of a batch an id of its own, and drops repeated ones. */
function moveDuplicates(placed: PlacedRecords): PlacedRecords {
  return hasDuplicates(placed.ids) ? place(placed, () => undefined) : placed
}

function hasDuplicates(ids: Float64Array): boolean {
  const sorted = ids.slice().sort()
  for (let index = 1; index < sorted.length; index++) if (sorted[index] === sorted[index - 1]) return true
  return false
}

/** Drops the rows that are already stored, and moves those whose id another request has. */
async function resolveConflicts(db: Kysely<LedgerTables>, placed: PlacedRecords): Promise<PlacedRecords> {
  // The next ids are looked up, too, because nearly all conflicts are solved by the next one.
  const ids = Array.from(placed.ids).flatMap((id) => [id, nextRecordId(id), nextRecordId(nextRecordId(id))])
  const stored = new Map<number, string>()
  for (let start = 0; start < ids.length; start += 1000) {
    const found = await db
      .selectFrom('requests')
      .select(['id', 'request_id'])
      .where('id', 'in', ids.slice(start, start + 1000))
      .execute()
    for (const { id, request_id } of found) stored.set(id, request_id)
  }
  return place(placed, (id) => stored.get(id))
}

function place(placed: PlacedRecords, storedAt: (id: number) => string | undefined): PlacedRecords {
  const taken = new Map<number, string>()
  const ownerOf = (id: number) => storedAt(id) ?? taken.get(id)
  const [kept, ids]: [number[], number[]] = [[], []]
  for (const [index, requestId] of placed.batch.requestIds.entries()) {
    let id = placed.ids[index] ?? 0
    while (ownerOf(id) !== undefined && ownerOf(id) !== requestId) id = nextRecordId(id)
    if (ownerOf(id) === requestId) continue
    taken.set(id, requestId)
    kept.push(index)
    ids.push(id)
  }
  const batch = kept.length === placed.batch.count ? placed.batch : placed.batch.pick(kept)
  return { ...placed, batch, ids: Float64Array.from(ids) }
}

function isUniqueViolation(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return (
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_ROWID' || code === UNIQUE_VIOLATION
  )
}

/** PostgreSQL's code. */
const UNIQUE_VIOLATION = '23505'

/** Rows whose values are in memory at once. Those of all would outlive several collections. */
const PART = 128

async function insertRecords(
  db: Transaction<LedgerTables>,
  { dictionary, cipher }: RecordStorage,
  placed: PlacedRecords,
  repeated: ReadonlySet<string>,
  slotRows: readonly TraceSlotRow[],
): Promise<void> {
  const { ids } = placed
  const { columns, valuesOf } = createValueBuilder(placed, dictionary, repeated)
  for (let start = 0; start < ids.length; start += PART)
    await insertValues(db, 'requests', columns, valuesOf(start, Math.min(start + PART, ids.length)))
  await insertAll(db, 'trace_slots', slotRows, 'skip')
  await insertExtras(db, cipher, placed)
  await addToUsage(db, sumUsage(placed, repeated))
  await numberRecords(db, 'request', Array.from(ids))
}

/** Inserts the rows that few records have. */
async function insertExtras(
  db: Transaction<LedgerTables>,
  cipher: PromptCipher | undefined,
  placed: PlacedRecords,
): Promise<void> {
  if (placed.batch.extras.size === 0) return
  const prompts: LedgerTables['prompts'][] = []
  const rated: LedgerTables['rated_prompts'][] = []
  const assumedCosts: LedgerTables['assumed_costs'][] = []
  const seen: Parameters<typeof noteSessions>[1][number][] = []
  for (const [index, { prompt, features, assumedCost, sessionId, shadowOf }] of placed.batch.extras) {
    const id = placed.ids[index] ?? 0
    const requestId = placed.batch.requestIds[index] ?? ''
    const shared = sharedRowOf(placed, index)
    const { user_id, model, error, key, group_set, flags } = shared
    const promptRow = toPromptRow({ requestId, userId: user_id, prompt: prompt ?? null }, id, cipher)
    if (promptRow !== undefined) prompts.push(promptRow)
    // Prompts that no model answered cannot be rated.
    if (features !== undefined && model !== null && error === null)
      rated.push({ id, user_id, model: shorten(model), features: Buffer.from(features, 'base64') })
    const shadow_of = shadowOf ?? null
    if (assumedCost !== undefined)
      assumedCosts.push(toAssumedCost({ id, user_id, key, group_set, shadow_of, flags }, assumedCost))
    // Copies for other models are not part of what an agent does.
    if (sessionId !== undefined && shadowOf === undefined)
      seen.push({ user_id, session: sessionId, time: timeOfRecordId(id) })
  }
  await insertAll(db, 'prompts', prompts)
  await insertAll(db, 'rated_prompts', rated)
  await insertAll(db, 'assumed_costs', assumedCosts)
  await noteSessions(db, seen)
}

/** Slots above which what is known is dropped. Storing one again changes nothing. */
const MAX_KNOWN = 20_000

/**
 * Finds the traces of a batch that have not yet been stored for their slot of time. See
 * docs/decisions/ledger.md, "Rules are recorded as a trace".
 */
export class TraceSlots {
  readonly #stored = new Set<string>()

  /** In the order of the key, so that gateways that write at the same time lock rows in the same order. */
  findNew(placed: PlacedRecords): readonly TraceSlotRow[] {
    const found = new Map<string, readonly TraceSlotRow[]>()
    if (!placed.shared.some((row) => row !== undefined && row.rules.length > 0)) return []
    for (const [index, id] of placed.ids.entries()) {
      const { trace, rules } = sharedRowOf(placed, index)
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
function toSlotRows(trace: number, slot: number, rules: readonly AppliedRule[]): readonly TraceSlotRow[] {
  const rows = new Map<string, TraceSlotRow>()
  for (const { kind, rule_id, action } of rules) {
    rows.set(`${kind} ${rule_id}`, { kind, rule_id, slot, trace })
    rows.set(`${action} ${ANY_RULE}`, { kind: action, rule_id: ANY_RULE, slot, trace })
  }
  return [...rows.values()]
}

/** The order in which rows are locked. */
function compareSlots(a: TraceSlotRow, b: TraceSlotRow): number {
  return a.kind - b.kind || a.rule_id - b.rule_id || a.slot - b.slot || a.trace - b.trace
}
