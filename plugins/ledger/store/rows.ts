import { toAssumedCost } from './assumed-costs.ts'
import { type Dictionary, shorten } from './dictionary.ts'
import { type PromptCipher, toPromptRow } from './prompt-cipher.ts'
import type { LedgerRecord, RecordedAttempt, RecordedTimes } from './record.ts'
import { HOUR_MS, timeOfRecordId, toRecordId } from './record-id.ts'
import {
  FLAGS,
  type LedgerTables,
  type PromptRow,
  type RequestRow,
  SIGNALS,
  type TraceRuleRow,
  type UsageMeasures,
} from './tables.ts'

/** A rule that did something to a request. */
export type AppliedRule = Omit<TraceRuleRow, 'trace'>

/** The rows of one record. */
export interface RecordRows {
  readonly request: RequestRow
  /** Records whose rules are the same list share this list. */
  readonly rules: readonly AppliedRule[]
  readonly prompt: PromptRow | undefined
  readonly rated: LedgerTables['rated_prompts'] | undefined
  readonly assumedCost: LedgerTables['assumed_costs'] | undefined
}

/** Returns a function that returns the rows of one record of a batch. The dictionary knows their texts. */
export function createRowBuilder(
  dictionary: Dictionary,
  cipher: PromptCipher | undefined,
): (record: LedgerRecord) => RecordRows {
  const rulesOf = memoize((rules: LedgerRecord['rules']) => toAppliedRules(rules, dictionary))
  return (record) => toRows(record, dictionary, cipher, rulesOf)
}

/** Converts each list once: most records of a batch share theirs. */
function memoize<List extends readonly unknown[], Value>(
  convert: (list: List) => Value,
): (list: List) => Value {
  const known = new Map<List, Value>()
  return (list) => {
    let value = known.get(list)
    if (value === undefined) {
      value = convert(list)
      known.set(list, value)
    }
    return value
  }
}

function toAppliedRules(rules: LedgerRecord['rules'], dictionary: Dictionary): readonly AppliedRule[] {
  const applied = new Map<string, AppliedRule>()
  for (const { kind, rule_id, action, outcome } of rules) {
    if (outcome !== 'applied') continue
    const rule = { kind: dictionary.label(kind), rule_id, action: dictionary.label(action) }
    applied.set(`${rule.kind} ${rule_id} ${rule.action}`, rule)
  }
  return [...applied.values()]
}

function toRows(
  record: LedgerRecord,
  dictionary: Dictionary,
  cipher: PromptCipher | undefined,
  rulesOf: (rules: LedgerRecord['rules']) => readonly AppliedRule[],
): RecordRows {
  const { requestId, provider, model, requestedModel, tokens, rules, warnings } = record
  const id = toRecordId(requestId)
  const warningList = dictionary.warningList(warnings)
  if (id === undefined) throw new RangeError(`"${requestId}" is not a request id`)
  const row: RequestRow = {
    id,
    request_id: requestId,
    user_id: record.userId,
    key: dictionary.label(record.keyId),
    group_set: record.groups.length === 0 ? null : dictionary.groupSet(record.groups),
    endpoint: dictionary.label(record.endpoint),
    mode: record.mode === null ? null : dictionary.label(record.mode),
    reason: record.reason === null ? null : dictionary.label(record.reason),
    requested_model: requestedModel === null || requestedModel === model ? null : shorten(requestedModel),
    status: record.status,
    error: record.error === null ? null : dictionary.error(record.error),
    target: provider === null || model === null ? null : dictionary.target(provider, model),
    attempts: encodeAttempts(record),
    trace: rules.length === 0 ? null : dictionary.trace(rules),
    rules_position: record.rulesPosition,
    warnings: warnings.length === 0 || warningList !== undefined ? null : JSON.stringify(warnings),
    warning_list: warningList ?? null,
    input: tokens?.input ?? null,
    cached: tokens?.cached ?? null,
    cache_write: tokens?.cacheWrite ?? null,
    output: tokens?.output ?? null,
    reasoning: tokens?.reasoning ?? null,
    cost: record.cost,
    latency: record.latencyMs,
    first_token: record.firstTokenMs,
    flags:
      (record.isStream ? FLAGS.stream : 0) +
      (record.isCacheHit ? FLAGS.cacheHit : 0) +
      (record.isAborted ? FLAGS.aborted : 0) +
      (requestedModel === null ? FLAGS.modelOmitted : 0) +
      (record.isOwnCopy ? FLAGS.ownCopy : 0),
    trace_id: record.traceId,
    router_version: record.router?.version ?? null,
    router_probability: record.router?.probability ?? null,
    router_propensity: record.router?.propensity ?? null,
    routing_arm: record.arm === undefined ? null : dictionary.label(record.arm),
    shadow_of: record.shadowOf ?? null,
    deployment: record.deployment === undefined ? null : dictionary.label(record.deployment),
    session: record.sessionId ?? null,
    signals: (record.signals ?? []).reduce((sum, signal) => sum | SIGNALS[signal], 0),
  }
  return {
    request: row,
    rules: rulesOf(rules),
    prompt: toPromptRow(record, id, cipher),
    rated: toRatedPrompt(record, id),
    assumedCost: record.assumedCost === undefined ? undefined : toAssumedCost(row, record.assumedCost),
  }
}

/** Prompts that no model answered cannot be rated. */
function toRatedPrompt(record: LedgerRecord, id: number): RecordRows['rated'] {
  const { userId, model, error, features } = record
  if (features === undefined || model === null || error !== null) return undefined
  return { id, user_id: userId, model: shorten(model), features: Buffer.from(features, 'base64') }
}

/** Nearly all requests have one attempt, which succeeded. */
function encodeAttempts({ attempts, times, provider, model, deployment }: LedgerRecord): string | null {
  const [only] = attempts
  if (only === undefined) return times === undefined ? null : JSON.stringify({ times })
  const isPlain = attempts.length === 1 && only.outcome === 'ok'
  const isTarget = only.provider === provider && only.model === model && only.deployment === deployment
  if (!isPlain || !isTarget) return JSON.stringify(times === undefined ? attempts : { times, attempts })
  const isTimed = times?.length === 3 && only.startMs !== undefined
  return isTimed ? JSON.stringify([...times, only.startMs, only.ms]) : String(only.ms)
}

type StoredAttempts =
  | number
  | readonly [admittedMs: number, readMs: number, decidedMs: number, startMs: number, ms: number]
  | readonly RecordedAttempt[]
  | { readonly times: RecordedTimes; readonly attempts?: readonly RecordedAttempt[] }

/** Parses `attempts` of a row. */
export function decodeAttempts(
  text: string | null,
  provider: string | null,
  model: string | null,
  deployment: string | null,
): Pick<LedgerRecord, 'attempts' | 'times'> {
  if (text === null) return { attempts: [] }
  // Only `encodeAttempts` writes them.
  const stored = JSON.parse(text) as StoredAttempts
  const at = deployment === null ? {} : { deployment }
  const only = { provider: provider ?? '', model: model ?? '', ...at, outcome: 'ok' }
  if (typeof stored === 'number') return { attempts: [{ ...only, ms: stored }] }
  if ('times' in stored) return { attempts: [], ...stored }
  if (!isTimedAttempt(stored)) return { attempts: stored }
  const [admittedMs, readMs, decidedMs, startMs, ms] = stored
  return { attempts: [{ ...only, ms, startMs }], times: [admittedMs, readMs, decidedMs] }
}

function isTimedAttempt(
  stored: readonly unknown[],
): stored is readonly [number, number, number, number, number] {
  return typeof stored[0] === 'number'
}

/** Returns the hour of a row, in hours since 1970. */
export function hourOf({ id }: Pick<RequestRow, 'id'>): number {
  return Math.floor(timeOfRecordId(id) / HOUR_MS)
}

/** Returns what one request adds to usage. */
export function toMeasures(row: RequestRow): UsageMeasures {
  return {
    requests: 1,
    errors: row.error === null ? 0 : 1,
    cache_hits: row.flags & FLAGS.cacheHit ? 1 : 0,
    unknown_costs: row.cost === null ? 1 : 0,
    input: row.input ?? 0,
    cached: row.cached ?? 0,
    cache_write: row.cache_write ?? 0,
    output: row.output ?? 0,
    reasoning: row.reasoning ?? 0,
    cost: row.cost ?? 0,
    ratings: 0,
    score: 0,
    cut_off: row.signals & SIGNALS.cut_off ? 1 : 0,
    invalid_tool_call: row.signals & SIGNALS.invalid_tool_call ? 1 : 0,
    schema_mismatch: row.signals & SIGNALS.schema_mismatch ? 1 : 0,
    asked_again: row.signals & SIGNALS.asked_again ? 1 : 0,
  }
}
