import { type Dictionary, shorten } from './dictionary.ts'
import { filledColumns } from './insert-rows.ts'
import type { LedgerRecord, RecordedAttempt, RecordedTimes } from './record.ts'
import { FIGURES, type RecordBatch, type SharedFields } from './record-batch.ts'
import { HOUR_MS, timeOfRecordId } from './record-id.ts'
import { FLAGS, type RequestRow, SIGNALS, type TraceRuleRow } from './tables.ts'

/** A rule that did something to a request. */
export type AppliedRule = Omit<TraceRuleRow, 'trace'>

/** Columns whose values records share. */
const SHARED_COLUMNS = [
  ...(['user_id', 'key', 'group_set', 'endpoint', 'mode', 'reason', 'requested_model', 'status'] as const),
  ...(['error', 'target', 'trace', 'rules_position', 'warnings', 'warning_list', 'flags'] as const),
  'deployment',
] as const satisfies readonly (keyof RequestRow)[]

/** Columns that are numbers of the batch, and their places. */
const FIGURE_COLUMNS = {
  input: FIGURES.input,
  cached: FIGURES.cached,
  cache_write: FIGURES.cacheWrite,
  output: FIGURES.output,
  reasoning: FIGURES.reasoning,
  cost: FIGURES.cost,
  latency: FIGURES.latencyMs,
  first_token: FIGURES.firstTokenMs,
} as const satisfies Partial<Record<keyof RequestRow, number>>

/** Columns that few records have. */
const EXTRA_COLUMNS = [
  ...(['trace_id', 'router_version', 'router_probability', 'router_propensity', 'routing_arm'] as const),
  ...(['shadow_of', 'session'] as const),
] as const satisfies readonly (keyof RequestRow)[]

const OTHER_COLUMNS = ['id', 'request_id', 'attempts', 'signals'] as const

/** The columns of `requests`, in the order of the values of a row. */
const COLUMNS: readonly (keyof RequestRow)[] = [
  ...OTHER_COLUMNS,
  ...SHARED_COLUMNS,
  // The cast is safe: the keys are those above.
  ...(Object.keys(FIGURE_COLUMNS) as (keyof typeof FIGURE_COLUMNS)[]),
  ...EXTRA_COLUMNS,
]

/** What the rows of some records have in common. */
export interface SharedRow
  extends Pick<RequestRow, (typeof SHARED_COLUMNS)[number]>,
    Pick<SharedFields, 'model' | 'provider'> {
  /** The same list for all of the same rules. */
  readonly rules: readonly AppliedRule[]
}

/** Returns the shared part of rows, by the numbers of a batch. The dictionary knows the texts. */
export function toSharedRows(batch: RecordBatch, dictionary: Dictionary): readonly (SharedRow | undefined)[] {
  const uses = batch.countUses()
  const rulesOf = memoize((rules: LedgerRecord['rules']) => toAppliedRules(rules, dictionary))
  return batch.shared.map((fields, number) =>
    uses[number] === 0 ? undefined : toSharedRow(fields, dictionary, rulesOf(fields.rules)),
  )
}

function toSharedRow(
  fields: SharedFields,
  dictionary: Dictionary,
  applied: readonly AppliedRule[],
): SharedRow {
  const { provider, model, requestedModel, rules, warnings, groups, mode, reason, error, deployment } = fields
  const warningList = dictionary.warningList(warnings)
  return {
    user_id: fields.userId,
    key: dictionary.label(fields.keyId),
    group_set: groups.length === 0 ? null : dictionary.groupSet(groups),
    endpoint: dictionary.label(fields.endpoint),
    mode: mode === null ? null : dictionary.label(mode),
    reason: reason === null ? null : dictionary.label(reason),
    requested_model: requestedModel === null || requestedModel === model ? null : shorten(requestedModel),
    status: fields.status,
    error: error === null ? null : dictionary.error(error),
    target: provider === null || model === null ? null : dictionary.target(provider, model),
    trace: rules.length === 0 ? null : dictionary.trace(rules),
    rules_position: fields.rulesPosition,
    warnings: warnings.length === 0 || warningList !== undefined ? null : JSON.stringify(warnings),
    warning_list: warningList ?? null,
    flags:
      (fields.isStream ? FLAGS.stream : 0) +
      (fields.isCacheHit ? FLAGS.cacheHit : 0) +
      (fields.isAborted ? FLAGS.aborted : 0) +
      (requestedModel === null ? FLAGS.modelOmitted : 0) +
      (fields.isOwnCopy ? FLAGS.ownCopy : 0),
    deployment: deployment === undefined ? null : dictionary.label(deployment),
    provider,
    model,
    rules: applied,
  }
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

type Value = number | string | null

/** Records of a batch that have their ids, and what their rows are built from. */
export interface PlacedRecords {
  readonly batch: RecordBatch
  readonly ids: Float64Array
  readonly shared: readonly (SharedRow | undefined)[]
}

export function sharedRowOf({ batch, shared }: PlacedRecords, index: number): SharedRow {
  const row = shared[batch.sharedNumber(index)]
  if (row === undefined) throw new RangeError(`there is no record ${index}`)
  return row
}

/** Builds the values of rows of `requests`, one row after the other, without an object for each. */
export interface ValueBuilder {
  readonly columns: readonly string[]
  readonly valuesOf: (from: number, below: number) => Value[]
}

/** `repeated`: the ids of requests whose prompts came again. */
export function createValueBuilder(
  placed: PlacedRecords,
  dictionary: Dictionary,
  repeated: ReadonlySet<string>,
): ValueBuilder {
  const { batch, ids, shared } = placed
  const isFilled = (column: string) => {
    if (column in FIGURE_COLUMNS) {
      const place = FIGURE_COLUMNS[column as keyof typeof FIGURE_COLUMNS]
      return batch.requestIds.some((_, index) => batch.figure(index, place) !== null)
    }
    if (isIn(EXTRA_COLUMNS, column)) return batch.extras.size > 0
    return !isIn(SHARED_COLUMNS, column) || shared.some((row) => row !== undefined && row[column] !== null)
  }
  const columns = filledColumns('requests', COLUMNS, isFilled)
  const sharedColumns = SHARED_COLUMNS.filter((column) => columns.includes(column))
  const sharedValues = shared.map((row) => row && sharedColumns.map((column) => row[column]))
  const places = Object.entries(FIGURE_COLUMNS).flatMap(([column, place]) =>
    columns.includes(column) ? place : [],
  )
  const hasExtras = columns.includes(EXTRA_COLUMNS[0])
  const valuesOf = (from: number, below: number) => {
    const values: Value[] = new Array((below - from) * columns.length)
    let next = 0
    for (let index = from; index < below; index++) {
      values[next++] = ids[index] ?? null
      values[next++] = batch.requestIds[index] ?? null
      values[next++] = encodeAttempts(batch, index)
      values[next++] = signalsOf(batch, index, repeated)
      for (const value of sharedValues[batch.sharedNumber(index)] ?? []) values[next++] = value
      for (const place of places) values[next++] = batch.figure(index, place)
      if (!hasExtras) continue
      const { traceId = null, router, arm, shadowOf = null, sessionId = null } = batch.extrasOf(index) ?? {}
      values[next++] = traceId
      values[next++] = router?.version ?? null
      values[next++] = router?.probability ?? null
      values[next++] = router?.propensity ?? null
      values[next++] = arm === undefined ? null : dictionary.label(arm)
      values[next++] = shadowOf
      values[next++] = sessionId
    }
    return values
  }
  return { columns, valuesOf }
}

function isIn<Column extends string>(columns: readonly Column[], column: string): column is Column {
  return (columns as readonly string[]).includes(column)
}

/** Returns a sum of `SIGNALS`. */
export function signalsOf(batch: RecordBatch, index: number, repeated: ReadonlySet<string>): number {
  const isRepeated = repeated.size > 0 && repeated.has(batch.requestIds[index] ?? '')
  const own = isRepeated ? SIGNALS.asked_again : 0
  const signals = batch.extrasOf(index)?.signals
  return signals === undefined ? own : signals.reduce((sum, signal) => sum | SIGNALS[signal], own)
}

/** Nearly all requests have one attempt, which succeeded. */
function encodeAttempts(batch: RecordBatch, index: number): string | null {
  const attempts = batch.extrasOf(index)?.attempts
  const ms = batch.figure(index, FIGURES.attemptMs)
  const startMs = batch.figure(index, FIGURES.attemptStartMs)
  const decidedMs = batch.figure(index, FIGURES.decidedMs)
  if (ms !== null && startMs !== null && decidedMs !== null) {
    const admittedMs = batch.figure(index, FIGURES.admittedMs)
    return `[${admittedMs},${batch.figure(index, FIGURES.readMs)},${decidedMs},${startMs},${ms}]`
  }
  if (ms !== null) return String(ms)
  const times = batch.timesOf(index)
  if (attempts !== undefined) return JSON.stringify(times === undefined ? attempts : { times, attempts })
  return times === undefined ? null : JSON.stringify({ times })
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
