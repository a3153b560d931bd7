import { CompiledQuery, type Kysely, sql, type Transaction } from 'kysely'
import type { Dictionary } from './dictionary.ts'
import type { PromptCipher } from './prompt-cipher.ts'
import type { LedgerRecord } from './record.ts'
import { nextRecordId } from './record-id.ts'
import { hourOf, type RecordRows, toMeasures, toRows } from './rows.ts'
import { type LedgerTables, MEASURES, type UsageMeasures } from './tables.ts'
import { HOURS_PER_DAY } from './units.ts'

/**
 * Writes records and adds them to the usage, in one transaction. A record that is already there is skipped,
 * so that a batch whose outcome is unknown can be written again.
 */
export async function writeRecords(
  db: Kysely<LedgerTables>,
  dictionary: Dictionary,
  cipher: PromptCipher | undefined,
  records: readonly LedgerRecord[],
): Promise<void> {
  await dictionary.add(records, Date.now())
  let rows: readonly RecordRows[] = moveDuplicates(
    records.map((record) => toRows(record, dictionary, cipher)),
  )
  for (let attempt = 1; rows.length > 0; attempt++) {
    try {
      await db.transaction().execute((transaction) => insertRows(transaction, rows))
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
        rules: row.rules.map((rule) => ({ ...rule, request: id })),
        prompt: row.prompt && { ...row.prompt, id },
        rated: row.rated && { ...row.rated, id },
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

async function insertRows(db: Transaction<LedgerTables>, rows: readonly RecordRows[]): Promise<void> {
  await insertAll(
    db,
    'requests',
    rows.map(({ request }) => request),
  )
  await insertAll(
    db,
    'request_rules',
    rows.flatMap(({ rules }) => rules),
  )
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
  const [hours, totals, byRule] = [new UsageSums(), new UsageSums(), new UsageSums()]
  const [days, ruleDays] = [new UsageSums(), new UsageSums()]
  for (const { request, rules } of rows) {
    // Users neither asked for copies nor pay for them.
    if (request.shadow_of !== null) continue
    const { user_id, key } = request
    const group_set = request.group_set ?? 0
    const [hour, target, measures] = [hourOf(request), request.target ?? 0, toMeasures(request)]
    const day = Math.floor(hour / HOURS_PER_DAY)
    hours.add({ hour, user_id, key, group_set, target }, measures)
    days.add({ day, user_id, key, group_set, target }, measures)
    totals.add({ hour, target }, measures)
    // A rule with several actions counts once.
    const ruleKeys = new Map(rules.map(({ kind, rule_id }) => [`${kind} ${rule_id}`, { kind, rule_id }]))
    for (const { kind, rule_id } of ruleKeys.values()) {
      byRule.add({ hour, kind, rule_id, user_id, key, group_set, target }, measures)
      ruleDays.add({ day, kind, rule_id, target }, measures)
    }
  }
  await addUsage(db, 'usage_hours', hours)
  await addUsage(db, 'usage_totals', totals)
  await addUsage(db, 'usage_rules', byRule)
  await addUsage(db, 'usage_days', days)
  await addUsage(db, 'usage_rule_days', ruleDays)
}

type UsageTable = 'usage_hours' | 'usage_totals' | 'usage_rules' | 'usage_days' | 'usage_rule_days'
type UsageKey = Readonly<Record<string, number>>
type UsageRow = UsageKey & UsageMeasures

/** The measures of a batch by key. */
class UsageSums {
  readonly #rows = new Map<string, { key: UsageKey; values: readonly number[]; sums: UsageMeasures }>()

  add(key: UsageKey, measures: UsageMeasures): void {
    const values = Object.values(key)
    const name = values.join(' ')
    const row = this.#rows.get(name)
    if (row === undefined) this.#rows.set(name, { key, values, sums: { ...measures } })
    else for (const measure of MEASURES) row.sums[measure] += measures[measure]
  }

  /** In the order of the key, so that gateways that write at the same time lock rows in the same order. */
  rows(): readonly UsageRow[] {
    return [...this.#rows.values()]
      .sort((a, b) => compareKeys(a.values, b.values))
      .map(({ key, sums }) => ({ ...key, ...sums }) as UsageRow)
  }

  keyColumns(): readonly string[] {
    const [first] = this.#rows.values()
    return Object.keys(first?.key ?? {})
  }
}

function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - (b[index] ?? 0)
  return 0
}

async function addUsage(db: Transaction<LedgerTables>, table: UsageTable, usage: UsageSums): Promise<void> {
  const columns = usage.keyColumns()
  await insertAll(db, table, usage.rows(), columns)
}

type Row = Readonly<Record<string, number | string | Buffer | null>>

/** The statements of a database by table and number of rows: compiling one takes longer than running it. */
const statements = new WeakMap<object, Map<string, string>>()

const MAX_ROWS = 256

/** Inserts rows; with `key`, rows of the same key are added up. */
async function insertAll(
  db: Transaction<LedgerTables>,
  table: Exclude<keyof LedgerTables, 'ledger'>,
  rows: readonly object[],
  key?: readonly string[],
): Promise<void> {
  for (let start = 0; start < rows.length; ) {
    const left = rows.length - start
    const count = left >= MAX_ROWS ? MAX_ROWS : 2 ** Math.floor(Math.log2(left))
    const part = rows.slice(start, start + count) as readonly Row[]
    const text = statementFor(db, table, part, key)
    await db.executeQuery(
      CompiledQuery.raw(
        text,
        part.flatMap((row) => Object.values(row)),
      ),
    )
    start += count
  }
}

function statementFor(
  db: Transaction<LedgerTables>,
  table: Exclude<keyof LedgerTables, 'ledger'>,
  rows: readonly Row[],
  key: readonly string[] | undefined,
): string {
  const owner = db.getExecutor().adapter
  const compiled = statements.get(owner) ?? new Map<string, string>()
  statements.set(owner, compiled)
  const name = `${table} ${rows.length}`
  let text = compiled.get(name)
  if (text === undefined) {
    const insert = db.insertInto(table).values(rows as never)
    const sums = Object.fromEntries(
      MEASURES.map((measure) => [
        measure,
        sql`${sql.ref(`${table}.${measure}`)} + ${sql.ref(`excluded.${measure}`)}`,
      ]),
    )
    const query =
      key === undefined
        ? insert
        : insert.onConflict((conflict) => conflict.columns(key as never).doUpdateSet(sums as never))
    text = query.compile().sql
    compiled.set(name, text)
  }
  return text
}
