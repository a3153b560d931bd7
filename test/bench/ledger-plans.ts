import { CompiledQuery } from 'kysely'
import { type LedgerLocation, openLedgerDatabase } from '../../plugins/ledger/store/database.ts'
import { findLabel } from '../../plugins/ledger/store/find-records.ts'
import { firstIdAt, IDS_PER_SLOT, slotOf } from '../../plugins/ledger/store/record-id.ts'

/** Prints the plans of typical queries, in the form in which the store runs them. */
export async function explainQueries(
  location: LedgerLocation,
  logId: string,
  { since, until }: { readonly since: number; readonly until: number },
  print: (text: string) => void,
): Promise<void> {
  const { db, engine } = await openLedgerDatabase(location, logId)
  const schema = engine === 'postgres' ? `"${logId}".` : ''
  const range = (column: string) => `${column} >= ${firstIdAt(since)} and ${column} < ${firstIdAt(until)}`
  const plus = engine === 'sqlite' ? '+' : ''
  const [first, last] = [slotOf(firstIdAt(since)), slotOf(firstIdAt(until))]
  const slots = (condition: string) =>
    `select requests.id from ${schema}trace_slots as slots cross join ${schema}requests as requests ` +
    `where ${condition} and slot >= ${first} and slot <= ${last} and requests.trace = slots.trace ` +
    `and requests.id >= slot * ${IDS_PER_SLOT} and requests.id < (slot + 1) * ${IDS_PER_SLOT} ` +
    `and ${range('requests.id + 0')} order by slot desc, requests.id desc limit 51`
  const statements = [
    `select id from ${schema}requests as requests where ${range('id')} and user_id = 1 order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and target = 1 order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and status = 403 and error is not null order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and status = 502 and error is not null and ${plus}user_id in (1) order by id desc limit 51`,
    slots(`kind = ${await findLabel(db, 'firewall')} and rule_id = 7`),
    slots(`kind = ${await findLabel(db, 'mask')} and rule_id = 0`),
    `select hour / 24, target, sum(cost) from ${schema}usage_totals where hour >= 0 and hour < 10000000 group by hour / 24, target`,
    `select hour / 24, target, sum(cost) from ${schema}usage_hours where user_id = 1 and hour >= 0 and hour < 10000000 group by hour / 24, target`,
  ]
  for (const statement of statements) {
    const explain = engine === 'sqlite' ? 'explain query plan' : 'explain'
    const { rows } = await db.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(`${explain} ${statement}`),
    )
    print(`\n${statement}`)
    for (const row of rows) print(`    ${row.detail ?? row['QUERY PLAN']}`)
  }
  await db.destroy()
}
