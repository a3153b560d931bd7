import { type Kysely, sql } from 'kysely'
import { QUALITY } from './give-feedback.ts'
import { FLAGS, type LedgerTables, MEASURES, SIGNALS, type UsageMeasures } from './tables.ts'
import { SCORE_UNITS } from './units.ts'

const column = (name: string) => sql<number>`${sql.ref(`requests.${name}`)}`
const countIf = (condition: ReturnType<typeof sql>) => sql<number>`case when ${condition} then 1 else 0 end`
const hasBit = (name: string, bit: number) => sql`${column(name)} & ${sql.lit(bit)} <> 0`

/** What each request adds to usage, as `toMeasures` says it, from its row and that of its feedback. */
const EXPRESSIONS: Readonly<Record<keyof UsageMeasures, ReturnType<typeof sql<number>>>> = {
  requests: sql<number>`1`,
  errors: countIf(sql`${column('error')} is not null`),
  cache_hits: countIf(hasBit('flags', FLAGS.cacheHit)),
  unknown_costs: countIf(sql`${column('cost')} is null`),
  input: column('input'),
  cached: column('cached'),
  cache_write: column('cache_write'),
  output: column('output'),
  reasoning: column('reasoning'),
  cost: column('cost'),
  ratings: countIf(sql`${sql.ref('feedback.score')} is not null`),
  score: sql<number>`round(${sql.ref('feedback.score')} * ${sql.lit(SCORE_UNITS)})`,
  cut_off: countIf(hasBit('signals', SIGNALS.cut_off)),
  invalid_tool_call: countIf(hasBit('signals', SIGNALS.invalid_tool_call)),
  schema_mismatch: countIf(hasBit('signals', SIGNALS.schema_mismatch)),
  asked_again: countIf(hasBit('signals', SIGNALS.asked_again)),
}

/** The id as an expression, so that the index of another condition is used, and not the primary key. */
export const UNINDEXED_ID = sql<number>`${column('id')} + 0`

/** Requests with their scores for quality, to be summed up. For few requests: no table has their sums. */
export function selectRequests(db: Kysely<LedgerTables>) {
  return db
    .selectFrom('requests')
    .leftJoin('feedback', (join) =>
      join.onRef('feedback.request', '=', 'requests.id').on('feedback.name', '=', QUALITY),
    )
}

/** Sums of the measures of usage, which are 0 and not null. */
export function selectMeasures() {
  return MEASURES.map((name) => sql<number>`cast(coalesce(sum(${EXPRESSIONS[name]}), 0) as bigint)`.as(name))
}
