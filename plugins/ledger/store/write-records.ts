import type { Kysely, Transaction } from 'kysely'
import { addToUsage } from './add-to-usage.ts'
import type { Dictionary } from './dictionary.ts'
import { insertAll } from './insert-rows.ts'
import type { PromptCipher } from './prompt-cipher.ts'
import type { LedgerRecord } from './record.ts'
import { nextRecordId } from './record-id.ts'
import { createRowBuilder, type RecordRows, toMeasures } from './rows.ts'
import type { LedgerTables, TraceSlotRow } from './tables.ts'
import type { TraceSlots } from './trace-slots.ts'

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
  await addToUsage(
    db,
    rows.map(({ request, rules }) => ({ request, rules, measures: toMeasures(request) })),
  )
}
