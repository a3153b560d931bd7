import { CompiledQuery } from 'kysely'
import { type LedgerLocation, openLedgerDatabase } from '../../plugins/ledger/store/database.ts'
import { firstIdAt } from '../../plugins/ledger/store/record-id.ts'

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
  const statements = [
    `select id from ${schema}requests as requests where ${range('id')} and user_id = 1 order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and target = 1 order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and status = 403 and error is not null order by id desc limit 51`,
    `select id from ${schema}requests as requests where ${range('id')} and status = 502 and error is not null and ${plus}user_id in (1) order by id desc limit 51`,
    `select distinct request from ${schema}request_rules as rules where ${range('request')} and kind = 1 and rule_id = 7 order by request desc limit 51`,
    `select distinct request from ${schema}request_rules as rules where ${range('request')} and action = 1 order by request desc limit 51`,
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
