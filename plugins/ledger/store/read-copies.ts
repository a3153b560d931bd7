import { type Kysely, sql } from 'kysely'
import type { CopyQuery, CopySums } from './queries.ts'
import { firstIdAt } from './record-id.ts'
import { selectMeasures, selectRequests, UNINDEXED_ID } from './sum-requests.ts'
import type { LedgerTables } from './tables.ts'

/** Sums up copies for other models by the rule that sent them and by model. */
export async function readCopies(
  db: Kysely<LedgerTables>,
  { since, until, userId }: CopyQuery,
): Promise<readonly CopySums[]> {
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
