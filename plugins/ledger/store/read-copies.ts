import { type Kysely, sql } from 'kysely'
import { QUALITY } from './feedback.ts'
import { findGroupSets } from './find-records.ts'
import type { CopyQuery, CopySums } from './queries.ts'
import { firstIdAt, SCORE_UNITS } from './record-id.ts'
import { FLAGS, type LedgerTables, MEASURES, SIGNALS, type UsageMeasures } from './tables.ts'

/** Sums up copies for other models by the rule that sent them and by model. */
export async function readCopies(
  db: Kysely<LedgerTables>,
  { since, until, userId, ...filter }: CopyQuery,
): Promise<readonly CopySums[]> {
  const groupSets = await findGroupSets(db, filter)
  if (groupSets?.length === 0) return []
  let query = selectRequests(db)
    .leftJoin('trace_rules', 'trace_rules.trace', 'requests.trace')
    .leftJoin('labels as kinds', 'kinds.id', 'trace_rules.kind')
    .leftJoin('targets', 'targets.id', 'requests.target')
    .where('requests.shadow_of', 'is not', null)
    .where(UNINDEXED_ID, '>=', firstIdAt(since))
    .where(UNINDEXED_ID, '<', firstIdAt(until))
    .groupBy(['kinds.value', 'trace_rules.rule_id', 'targets.provider', 'targets.model'])
    .orderBy('trace_rules.rule_id')
    .orderBy('targets.provider')
    .orderBy('targets.model')
  if (userId !== undefined) query = query.where('requests.user_id', '=', userId)
  if (groupSets) query = query.where('requests.group_set', 'in', groupSets)
  const answered = sql`case when ${sql.ref('requests.error')} is null then ${sql.ref('requests.latency')} end`
  const rows = await query
    .select(['kinds.value as kind', 'trace_rules.rule_id as ruleId', 'targets.provider', 'targets.model'])
    .select(selectMeasures())
    .select(sql<number | null>`cast(avg(${answered}) as bigint)`.as('latency'))
    .execute()
  return rows.map(({ kind, ruleId, provider, model, latency, ...sums }) => ({
    rule: kind === null || ruleId === null ? null : { kind, id: ruleId },
    provider,
    model,
    copies: sums.requests,
    errors: sums.errors,
    unknownCosts: sums.unknown_costs,
    cost: sums.cost,
    input: sums.input,
    output: sums.output,
    latencyMs: latency,
    ratings: sums.ratings,
    score: sums.score,
  }))
}

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
