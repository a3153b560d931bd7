import { type Kysely, sql } from 'kysely'
import type { RuleTraceEntry, Warning } from '../../../core/contract/index.ts'
import type { RequestFeedback } from './feedback-queries.ts'
import type { RequestFilter, StoredRecord } from './queries.ts'
import type { AnswerSignal } from './record.ts'
import { firstIdAt, timeOfRecordId, toRecordId } from './record-id.ts'
import { decodeAttempts } from './rows.ts'
import { FLAGS, type LedgerTables, type RequestRow, SIGNALS } from './tables.ts'

/** Returns the primary key of a request; undefined if it is not recorded. */
export async function findRecordKey(
  db: Kysely<LedgerTables>,
  requestId: string,
): Promise<number | undefined> {
  const id = toRecordId(requestId)
  if (id === undefined) return undefined
  const first = firstIdAt(timeOfRecordId(id))
  const found = await db
    .selectFrom('requests')
    .select('id')
    .where('id', '>=', first)
    .where('id', '<', firstIdAt(timeOfRecordId(id) + 1))
    .where('request_id', '=', requestId)
    .executeTakeFirst()
  return found?.id
}

/** Returns the record of a request; undefined if there is none. */
export async function findRecord(
  db: Kysely<LedgerTables>,
  requestId: string,
): Promise<StoredRecord | undefined> {
  const id = await findRecordKey(db, requestId)
  if (id === undefined) return undefined
  const [record] = await readRecords(db, [id])
  return record
}

/** Returns the records with these ids, newest first. */
export async function readRecords(
  db: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<readonly StoredRecord[]> {
  if (ids.length === 0) return []
  const rows = await selectRows(db).where('requests.id', 'in', ids).orderBy('requests.id', 'desc').execute()
  const feedback = await readFeedbackOf(db, ids)
  return rows.map((row) => ({ ...toRecord(row), feedback: feedback.get(row.id) ?? [] }))
}

/** Returns the feedback about requests, by their ids and then by name. */
async function readFeedbackOf(
  db: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RequestFeedback[]>> {
  const rows = await db
    .selectFrom('feedback')
    .selectAll()
    .where('request', 'in', ids)
    .orderBy('request')
    .orderBy('name')
    .execute()
  const feedback = new Map<number, RequestFeedback[]>()
  for (const { request, name, score, comment, given_by: givenBy, given_at: givenAt } of rows) {
    const list = feedback.get(request) ?? []
    list.push({ name, score, comment, givenBy, givenAt })
    feedback.set(request, list)
  }
  return feedback
}

function selectRows(db: Kysely<LedgerTables>) {
  return db
    .selectFrom('requests')
    .leftJoin('labels as keys', 'keys.id', 'requests.key')
    .leftJoin('labels as endpoints', 'endpoints.id', 'requests.endpoint')
    .leftJoin('labels as modes', 'modes.id', 'requests.mode')
    .leftJoin('labels as reasons', 'reasons.id', 'requests.reason')
    .leftJoin('labels as arms', 'arms.id', 'requests.routing_arm')
    .leftJoin('labels as deployments', 'deployments.id', 'requests.deployment')
    .leftJoin('group_sets', 'group_sets.id', 'requests.group_set')
    .leftJoin('targets', 'targets.id', 'requests.target')
    .leftJoin('errors', 'errors.id', 'requests.error')
    .leftJoin('lists as traces', 'traces.id', 'requests.trace')
    .leftJoin('lists as warning_lists', 'warning_lists.id', 'requests.warning_list')
    .selectAll('requests')
    .select([
      'keys.value as key_id',
      'endpoints.value as endpoint_path',
      'modes.value as mode_name',
      'reasons.value as reason_text',
      'arms.value as arm',
      'deployments.value as deployment_id',
      'group_sets.value as group_ids',
      'targets.provider as provider',
      'targets.model as model',
      'errors.code as error_code',
      'errors.status as error_status',
      'errors.message as error_message',
      'errors.param as error_param',
      'errors.rule_id as error_rule',
      'traces.value as trace_entries',
      'warning_lists.value as listed_warnings',
    ])
}

interface JoinedRow extends RequestRow {
  readonly key_id: string | null
  readonly endpoint_path: string | null
  readonly mode_name: string | null
  readonly reason_text: string | null
  readonly arm: string | null
  readonly deployment_id: string | null
  readonly group_ids: string | null
  readonly provider: string | null
  readonly model: string | null
  readonly error_code: string | null
  readonly error_status: number | null
  readonly error_message: string | null
  readonly error_param: string | null
  readonly error_rule: number | null
  readonly trace_entries: string | null
  readonly listed_warnings: string | null
}

function toRecord(row: JoinedRow): Omit<StoredRecord, 'feedback'> {
  const { provider, model, flags } = row
  return {
    id: row.id,
    requestId: row.request_id,
    userId: row.user_id,
    keyId: row.key_id ?? '',
    groups: row.group_ids?.split(',').map(Number) ?? [],
    endpoint: row.endpoint_path ?? '',
    requestedModel: row.requested_model ?? (flags & FLAGS.modelOmitted ? null : model),
    mode: row.mode_name,
    reason: row.reason_text,
    status: row.status,
    error: toError(row),
    provider,
    model,
    ...(row.deployment_id !== null && { deployment: row.deployment_id }),
    ...(row.session !== null && { sessionId: row.session }),
    ...decodeAttempts(row.attempts, provider, model, row.deployment_id),
    rules: decodeList<RuleTraceEntry>(row.trace_entries),
    rulesPosition: row.rules_position,
    warnings: decodeList<Warning>(row.listed_warnings ?? row.warnings),
    tokens: toTokens(row),
    cost: row.cost,
    latencyMs: row.latency,
    firstTokenMs: row.first_token,
    isStream: (flags & FLAGS.stream) !== 0,
    isCacheHit: (flags & FLAGS.cacheHit) !== 0,
    isAborted: (flags & FLAGS.aborted) !== 0,
    traceId: row.trace_id,
    ...(row.router_version !== null && {
      router: {
        version: row.router_version,
        probability: row.router_probability,
        propensity: row.router_propensity,
      },
    }),
    ...(row.arm !== null && { arm: row.arm }),
    ...(row.shadow_of !== null && { shadowOf: row.shadow_of }),
    ...(row.signals > 0 && { signals: toSignals(row.signals) }),
  }
}

function toSignals(signals: number): readonly AnswerSignal[] {
  return SIGNAL_NAMES.filter((name) => (signals & SIGNALS[name]) !== 0)
}

const SIGNAL_NAMES = Object.keys(SIGNALS) as readonly AnswerSignal[]

function toError(row: JoinedRow) {
  const { error, error_code, error_status, error_message, error_param, error_rule } = row
  if (error === null) return null
  return {
    code: error_code ?? 'unknown',
    status: error_status ?? row.status,
    ...(error_message !== null && { message: error_message }),
    ...(error_param !== null && { param: error_param }),
    ...(error_rule !== null && { ruleId: error_rule }),
  }
}

function toTokens({ input, cached, cache_write, output, reasoning }: RequestRow) {
  if (input === null) return null
  return {
    input,
    cached: cached ?? 0,
    cacheWrite: cache_write ?? 0,
    output: output ?? 0,
    reasoning: reasoning ?? 0,
  }
}

/** Only `toRows` writes these columns. */
function decodeList<Item>(text: string | null): readonly Item[] {
  return text === null ? [] : (JSON.parse(text) as readonly Item[])
}

/** Returns the id of a label; undefined if no record has it. */
export async function findLabel(db: Kysely<LedgerTables>, value: string): Promise<number | undefined> {
  if (cannotBeStored(value)) return undefined
  const row = await db.selectFrom('labels').select('id').where('value', '=', value).executeTakeFirst()
  return row?.id
}

/** Returns the sets of groups that a group, or one of several, is in; undefined without a condition. */
export async function findGroupSets(
  db: Kysely<LedgerTables>,
  { groupId, anyGroup }: Pick<RequestFilter, 'groupId' | 'anyGroup'>,
): Promise<readonly number[] | undefined> {
  const ids = groupId === undefined ? anyGroup : [groupId]
  if (ids === undefined) return undefined
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('group_members')
    .select('group_set')
    .distinct()
    .where('group_id', 'in', ids)
    .execute()
  return rows.map(({ group_set }) => group_set)
}

/** PostgreSQL rejects this character, also in parameters. What is stored never has it. */
export function cannotBeStored(text: string): boolean {
  return text.includes('\0')
}

/** A condition for text that contains a part, whatever the case of letters from A to Z. */
export function containsText(column: string, part: string) {
  const pattern = `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`
}

/** Returns the kept features of the prompts of requests, by the id of the record. */
export async function readFeatures(
  db: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Uint8Array>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('rated_prompts')
    .select(['id', 'features'])
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, features }) => [id, features]))
}
