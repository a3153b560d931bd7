import pg from 'pg'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'
import type { LedgerLocation } from '../../plugins/ledger/store/database.ts'
import { DAY_MS, firstIdAt, HOUR_MS, IDS_PER_SLOT } from '../../plugins/ledger/store/record-id.ts'

/** The tables to copy, with their columns of time. */
const TABLES = {
  requests: 'id',
  trace_slots: 'slot',
  usage_hours: 'hour',
  usage_totals: 'hour',
  usage_rules: 'hour',
  usage_days: 'day',
  usage_rule_days: 'day',
} as const

/**
 * Copies all records of a ledger into the periods that follow, inside of the database: writing ten million
 * records one by one takes an hour.
 */
export async function copyRecords(
  location: LedgerLocation,
  logId: string,
  { copies, periodMs }: { readonly copies: number; readonly periodMs: number },
): Promise<void> {
  const { run, close } = await connect(location, logId)
  const idStep = firstIdAt(Date.UTC(2027, 0) + periodMs) - firstIdAt(Date.UTC(2027, 0))
  const steps = { id: idStep, slot: idStep / IDS_PER_SLOT, hour: periodMs / HOUR_MS, day: periodMs / DAY_MS }
  for (const [table, column] of Object.entries(TABLES)) {
    const step = steps[column]
    const columns = Object.keys((await run(`select * from ${table} limit 1`))[0] ?? {})
    const last = Number((await run(`select max(${column}) as last from ${table}`))[0]?.last)
    for (let copy = 1; copy < copies; copy++) {
      const values = columns.map((name) => (name === column ? `${name} + ${copy * step}` : name))
      await run(`insert into ${table} (${columns}) select ${values} from ${table} where ${column} <= ${last}`)
    }
  }
  await close()
}

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Without the time limits of the ledger's own connections. The copies need not survive a crash. */
async function connect(location: LedgerLocation, logId: string) {
  if (location.engine === 'sqlite') {
    const database = new SqliteDatabase(location.file)
    for (const pragma of ['synchronous = OFF', 'cache_size = -400000']) database.pragma(pragma)
    return {
      async run(statement: string): Promise<Rows> {
        const prepared = database.prepare(statement)
        if (prepared.reader) return prepared.all() as Rows
        prepared.run()
        return []
      },
      close: async () => void database.close(),
    }
  }
  const client = new pg.Client({ connectionString: location.url })
  await client.connect()
  await client.query(`set search_path = "${logId}"; set synchronous_commit = off`)
  return {
    run: async (statement: string): Promise<Rows> => (await client.query(statement)).rows,
    async close() {
      await client.query(`vacuum analyze ${Object.keys(TABLES)}`)
      await client.end()
    },
  }
}
