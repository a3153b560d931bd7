import type { Kysely, Transaction } from 'kysely'
import { timeOfRequestId } from '../../../core/util/ids.ts'
import { addToUsage } from './add-to-usage.ts'
import type { Dictionary } from './dictionary.ts'
import { insertAll } from './insert-rows.ts'
import { numberRecords } from './number-records.ts'
import type { PromptCipher } from './prompt-cipher.ts'
import type { LedgerRecord } from './record.ts'
import { nextRecordId, slotOf, timeOfRecordId } from './record-id.ts'
import { createRowBuilder, type RecordRows, toMeasures } from './rows.ts'
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
 * so that a batch whose outcome is unknown can be written again.
 */
export async function writeRecords(
  db: Kysely<LedgerTables>,
  { dictionary, slots, cipher }: RecordStorage,
  records: readonly LedgerRecord[],
): Promise<void> {
  await dictionary.add(records, Date.now())
  let rows = moveDuplicates(records.map(createRowBuilder(dictionary, cipher)))
  for (let attempt = 1; rows.length > 0; attempt++) {
    try {
      const slotRows = slots.findNew(rows)
      await db.transaction().execute((transaction) => insertRows(transaction, rows, slotRows))
      slots.addStored(slotRows)
      return
    } catch (error) {
      if (!isUniqueViolation(error) || attempt === MAX_ATTEMPTS) throw error
      rows = await resolveConflicts(db, rows)
    }
  }
}

/** Other gateways that write to the same database may take an id at the same time. */
const MAX_ATTEMPTS = 10

/** Gives each request of a batch an id of its own, and drops repeated ones. */
function moveDuplicates(rows: readonly RecordRows[]): readonly RecordRows[] {
  const taken = new Map<number, string>()
  return place(rows, (id) => taken.get(id), taken)
}

/** Drops the rows that are already stored, and moves those whose id another request has. */
async function resolveConflicts(
  db: Kysely<LedgerTables>,
  rows: readonly RecordRows[],
): Promise<readonly RecordRows[]> {
  // The next ids are looked up, too, because nearly all conflicts are solved by the next one.
  const ids = rows.flatMap(({ request: { id } }) => [id, nextRecordId(id), nextRecordId(nextRecordId(id))])
  const stored = new Map<number, string>()
  for (let start = 0; start < ids.length; start += 1000) {
    const found = await db
      .selectFrom('requests')
      .select(['id', 'request_id'])
      .where('id', 'in', ids.slice(start, start + 1000))
      .execute()
    for (const { id, request_id } of found) stored.set(id, request_id)
  }
  const taken = new Map<number, string>()
  return place(rows, (id) => stored.get(id) ?? taken.get(id), taken)
}

function place(
  rows: readonly RecordRows[],
  ownerOf: (id: number) => string | undefined,
  taken: Map<number, string>,
): readonly RecordRows[] {
  return rows.flatMap((row) => {
    let { id } = row.request
    const { request_id } = row.request
    while (ownerOf(id) !== undefined && ownerOf(id) !== request_id) id = nextRecordId(id)
    if (ownerOf(id) === request_id) return []
    taken.set(id, request_id)
    if (id === row.request.id) return [row]
    return [
      {
        request: { ...row.request, id },
        rules: row.rules,
        prompt: row.prompt && { ...row.prompt, id },
        rated: row.rated && { ...row.rated, id },
        assumedCost: row.assumedCost && { ...row.assumedCost, id },
      },
    ]
  })
}

function isUniqueViolation(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return (
    code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_ROWID' || code === UNIQUE_VIOLATION
  )
}

/** PostgreSQL's code. */
const UNIQUE_VIOLATION = '23505'

async function insertRows(
  db: Transaction<LedgerTables>,
  rows: readonly RecordRows[],
  slotRows: readonly TraceSlotRow[],
): Promise<void> {
  await insertAll(
    db,
    'requests',
    rows.map(({ request }) => request),
  )
  await insertAll(db, 'trace_slots', slotRows, 'skip')
  await insertAll(
    db,
    'prompts',
    rows.flatMap(({ prompt }) => prompt ?? []),
  )
  await insertAll(
    db,
    'rated_prompts',
    rows.flatMap(({ rated }) => rated ?? []),
  )
  await insertAll(
    db,
    'assumed_costs',
    rows.flatMap(({ assumedCost }) => assumedCost ?? []),
  )
  await noteSessions(
    db,
    // Copies for other models are not part of what an agent does.
    rows.flatMap(({ request: { id, user_id, session, shadow_of } }) =>
      session === null || shadow_of !== null ? [] : [{ user_id, session, time: timeOfRecordId(id) }],
    ),
  )
  await addToUsage(
    db,
    rows.map(({ request, rules }) => ({ request, rules, measures: toMeasures(request) })),
  )
  await numberRecords(
    db,
    'request',
    rows.map(({ request: { id } }) => id),
  )
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
function toSlotRows(trace: number, slot: number, rules: RecordRows['rules']): readonly TraceSlotRow[] {
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

/** A prompt that comes again within this time after it was answered has been asked again. */
const REPEAT_MS = 60_000

/** Prompts that are remembered. Beyond it, the oldest are forgotten. */
const MAX_REMEMBERED = 20_000

interface Answered {
  readonly requestId: string
  readonly endedAt: number
}

/** Requests whose prompts came again. */
export interface Repeats {
  /** Of the records themselves. */
  readonly within: ReadonlySet<string>
  /** Of earlier ones. */
  readonly before: readonly string[]
}

/**
 * Finds answered requests whose prompts came again. See docs/decisions/feedback.md, "A repeated prompt is
 * found by a checksum in memory".
 */
export class RepeatWatch {
  /** By caller and prompt, in the order in which they were remembered. */
  #answered = new Map<string, Answered>()

  /** Finds the repeats of records that are about to be written; the same ones if it is called again. */
  find(records: readonly LedgerRecord[]): Repeats {
    const newest = new Map<string, Answered>()
    const own = new Set(records.map(({ requestId }) => requestId))
    const [within, before] = [new Set<string>(), new Set<string>()]
    for (const record of records) {
      const key = keyOf(record)
      if (key === undefined) continue
      const earlier = newest.get(key) ?? this.#answered.get(key)
      if (earlier !== undefined && isAskedAgain(earlier, record))
        (own.has(earlier.requestId) ? within : before).add(earlier.requestId)
      newest.set(key, toAnswered(record))
    }
    return { within, before: [...before] }
  }

  /** Remembers records that were written. */
  remember(records: readonly LedgerRecord[]): void {
    for (const record of records) {
      const key = keyOf(record)
      if (key === undefined) continue
      this.#answered.delete(key)
      this.#answered.set(key, toAnswered(record))
    }
    for (const [key] of this.#answered) {
      if (this.#answered.size <= MAX_REMEMBERED) return
      this.#answered.delete(key)
    }
  }
}

/** Undefined for a request without a prompt, or without an answer. */
function keyOf({ userId, keyId, promptChecksum, error }: LedgerRecord): string | undefined {
  return promptChecksum === undefined || error !== null ? undefined : `${userId} ${keyId} ${promptChecksum}`
}

function toAnswered({ requestId, latencyMs }: LedgerRecord): Answered {
  return { requestId, endedAt: (timeOfRequestId(requestId) ?? 0) + latencyMs }
}

/** Requests that are sent at the same time are not asked again. */
function isAskedAgain(earlier: Answered, { requestId }: LedgerRecord): boolean {
  const waited = (timeOfRequestId(requestId) ?? 0) - earlier.endedAt
  return earlier.requestId !== requestId && waited >= 0 && waited <= REPEAT_MS
}
