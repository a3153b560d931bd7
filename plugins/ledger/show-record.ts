import type { JsonObject, RouterChoice } from '../../core/contract/index.ts'
import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import { toCsvLine } from '../../core/util/csv.ts'
import type { RequestFeedback } from './store/feedback-queries.ts'
import type { CopySums, StoredRecord, UsageGroup } from './store/queries.ts'
import type { RequestFigures } from './store/read-figures.ts'
import type { RecordedAttempt, RecordedError, RecordedTimes } from './store/record.ts'
import { DAY_MS, HOUR_MS, SCORE_UNITS, timeOfRecordId } from './store/record-id.ts'

/** Shows a record as the endpoints return it. */
export function showRecord(record: StoredRecord): JsonObject {
  const { error, tokens } = record
  return {
    x_request_id: record.requestId,
    time: timeOf(record),
    user_id: record.userId,
    key_id: record.keyId || null,
    group_ids: record.groups,
    endpoint: record.endpoint,
    outcome: error === null ? 'answered' : 'failed',
    status: record.status,
    ...(error !== null && { error: showError(error, record) }),
    requested_model: record.requestedModel,
    routing_mode: record.mode,
    routing_reason: record.reason,
    provider: record.provider,
    model: record.model,
    deployment: record.deployment ?? null,
    attempts: record.attempts.map(showAttempt),
    times: record.times === undefined ? null : showTimes(record.times),
    rules_position: record.rulesPosition,
    rule_trace: record.rules,
    warnings: record.warnings,
    tokens: tokens && showTokens(tokens),
    cost_usd: record.cost === null ? null : toDollars(record.cost),
    latency_ms: record.latencyMs,
    first_token_ms: record.firstTokenMs,
    stream: record.isStream,
    cache_hit: record.isCacheHit,
    aborted: record.isAborted,
    trace_id: record.traceId,
    session_id: record.sessionId ?? null,
    router: record.router === undefined ? null : showRouter(record.router),
    routing_arm: record.arm ?? null,
    shadow_of: record.shadowOf ?? null,
    signals: record.signals ?? [],
    feedback: record.feedback.map(showFeedback),
  }
}

export function showFeedback({ name, score, comment, givenBy, givenAt }: RequestFeedback): JsonObject {
  return { name, score, comment, given_by: givenBy, given_at: new Date(givenAt).toISOString() }
}

function showAttempt({ startMs, ...attempt }: RecordedAttempt): JsonObject {
  return { ...attempt, ...(startMs !== undefined && { start_ms: startMs }) }
}

function showTimes([admittedMs, readMs, decidedMs]: RecordedTimes): JsonObject {
  return { admitted_ms: admittedMs, read_ms: readMs, decided_ms: decidedMs ?? null }
}

function showRouter({ version, probability, propensity }: RouterChoice): JsonObject {
  return { version, p: probability, propensity }
}

export function timeOf({ id }: StoredRecord): string {
  return new Date(timeOfRecordId(id)).toISOString()
}

function showError(
  { code, status, message, param, ruleId }: RecordedError,
  { rules }: Pick<StoredRecord, 'rules'>,
): JsonObject {
  // The policy of the rule is in the trace.
  const origin = rules.find(({ rule_id }) => rule_id === ruleId)?.origin
  return {
    code,
    http_status: status,
    ...(message !== undefined && { message }),
    ...(param !== undefined && { param }),
    ...(ruleId !== undefined && { meta: { rule_id: ruleId, ...(origin && { origin }) } }),
  }
}

interface TokenCounts {
  readonly input: number
  readonly cached: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}

export function showTokens({ input, cached, cacheWrite, output, reasoning }: TokenCounts): JsonObject {
  return { input, cached, cache_write: cacheWrite, output, reasoning }
}

/** Exact to the last digit: dividing an integer by a power of ten rounds correctly. */
export function toDollars(nanoDollars: number): number {
  return nanoDollars / NANOS_PER_USD
}

/** Shows a group of usage as the endpoints return it. */
export function showUsage(group: UsageGroup): JsonObject {
  const { user, group: groupId, key, model, provider, rule, arm, hour, day } = group
  return {
    ...(user !== undefined && { user }),
    ...(groupId !== undefined && { group: groupId }),
    ...(key !== undefined && { key }),
    ...(model !== undefined && { model }),
    ...(provider !== undefined && { provider }),
    ...(rule !== undefined && { rule: `${rule.kind}:${rule.id}` }),
    ...(arm !== undefined && { arm }),
    ...(hour !== undefined && { hour: new Date(hour * HOUR_MS).toISOString() }),
    ...(day !== undefined && { day: new Date(day * DAY_MS).toISOString().slice(0, 10) }),
    requests: group.requests,
    errors: group.errors,
    cache_hits: group.cacheHits,
    unknown_costs: group.unknownCosts,
    tokens: showTokens(group),
    cost_usd: toDollars(group.cost),
    ratings: group.ratings,
    mean_score: group.ratings === 0 ? null : toMeanScore(group),
    signals: group.signals,
  }
}

/** Shows the figures of the requests that pass a filter. */
export function showFigures(figures: RequestFigures): JsonObject {
  return {
    requests: figures.requests,
    is_truncated: figures.isTruncated,
    errors: figures.errors,
    cost_usd: toDollars(figures.cost),
    unknown_costs: figures.unknownCosts,
    latency_ms: figures.latency && { ...figures.latency },
    first_token_ms: figures.firstToken && { ...figures.firstToken },
  }
}

/** Shows the copies of a rule for a model. */
export function showCopies(sums: CopySums): JsonObject {
  const { rule, provider, model, copies, errors, unknownCosts, cost, latencyMs, ratings } = sums
  return {
    rule: rule && `${rule.kind}:${rule.id}`,
    provider,
    model,
    copies,
    errors,
    unknown_costs: unknownCosts,
    tokens: { input: sums.input, output: sums.output },
    cost_usd: toDollars(cost),
    latency_ms: latencyMs,
    ratings,
    mean_score: ratings === 0 ? null : toMeanScore(sums),
  }
}

function toMeanScore({ ratings, score }: Pick<UsageGroup, 'ratings' | 'score'>): number {
  return Math.round(score / ratings) / SCORE_UNITS
}

/** The columns of CSV. */
const CSV_COLUMNS: readonly (readonly [name: string, read: (record: StoredRecord) => unknown])[] = [
  ['x_request_id', ({ requestId }) => requestId],
  ['time', timeOf],
  ['user_id', ({ userId }) => userId],
  ['key_id', ({ keyId }) => keyId],
  ['group_ids', ({ groups }) => groups.join(' ')],
  ['endpoint', ({ endpoint }) => endpoint],
  ['status', ({ status }) => status],
  ['error_code', ({ error }) => error?.code],
  ['error_message', ({ error }) => error?.message],
  ['requested_model', ({ requestedModel }) => requestedModel],
  ['routing_mode', ({ mode }) => mode],
  ['provider', ({ provider }) => provider],
  ['model', ({ model }) => model],
  ['attempts', ({ attempts }) => attempts.length],
  ['rules', ({ rules }) => rules.map(describeRule).join(' ')],
  ['rules_position', ({ rulesPosition }) => rulesPosition],
  ['input_tokens', ({ tokens }) => tokens?.input],
  ['cached_tokens', ({ tokens }) => tokens?.cached],
  ['cache_write_tokens', ({ tokens }) => tokens?.cacheWrite],
  ['output_tokens', ({ tokens }) => tokens?.output],
  ['reasoning_tokens', ({ tokens }) => tokens?.reasoning],
  ['cost_usd', ({ cost }) => (cost === null ? null : toDollars(cost))],
  ['latency_ms', ({ latencyMs }) => latencyMs],
  ['first_token_ms', ({ firstTokenMs }) => firstTokenMs],
  ['stream', ({ isStream }) => isStream],
  ['cache_hit', ({ isCacheHit }) => isCacheHit],
  ['aborted', ({ isAborted }) => isAborted],
  ['trace_id', ({ traceId }) => traceId],
  ['router_version', ({ router }) => router?.version],
  ['router_p', ({ router }) => router?.probability],
  ['routing_arm', ({ arm }) => arm],
  ['shadow_of', ({ shadowOf }) => shadowOf],
  ['score', ({ feedback }) => feedback.find(({ name }) => name === 'quality')?.score],
  ['signals', ({ signals = [] }) => signals.join(' ')],
  ['deployment', ({ deployment }) => deployment],
  ['session_id', ({ sessionId }) => sessionId],
]

function describeRule({ kind, rule_id, action, outcome }: StoredRecord['rules'][number]): string {
  return `${kind}:${rule_id}:${action}:${outcome}`
}

export const CSV_HEADER = toCsvLine(CSV_COLUMNS.map(([name]) => name))

export function toRecordLine(record: StoredRecord): string {
  return toCsvLine(CSV_COLUMNS.map(([, read]) => read(record)))
}
