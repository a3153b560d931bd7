import type { LedgerRecord, RecordedTimes } from './record.ts'

/**
 * Records on their way to the thread that writes them. See docs/decisions/ledger.md, "Records in columns".
 */
export interface EncodedRecords {
  /** JSON: a list. */
  readonly requestIds: string
  /** `WIDTH` numbers for each record, at the places of `FIGURES`. Between processes, bytes in base64. */
  readonly figures: Float64Array | string
  /** JSON: lists of rules and of warnings, and `SharedValues`, which have the numbers of their lists. */
  readonly shared: string
  /** JSON: `RecordExtras` by the number of the record. */
  readonly extras: string
}

/** What the requests of a key mostly have in common. */
export type SharedFields = Pick<
  LedgerRecord,
  | ('userId' | 'keyId' | 'groups' | 'endpoint' | 'requestedModel' | 'mode' | 'reason' | 'status' | 'error')
  | ('provider' | 'model' | 'deployment' | 'rules' | 'rulesPosition' | 'warnings')
  | ('isStream' | 'isCacheHit' | 'isAborted' | 'isOwnCopy')
>

/** What most records do not have. `attempts`: unless they are one that succeeded at once. */
export type RecordExtras = Partial<
  Pick<
    LedgerRecord,
    | ('prompt' | 'traceId' | 'attempts' | 'router' | 'arm' | 'shadowOf' | 'signals' | 'assumedCost')
    | ('sessionId' | 'features')
  >
>

/** The places of numbers. One that a record does not have is NaN. */
export const FIGURES = {
  /** The number of the record's `SharedFields`. */
  shared: 0,
  input: 1,
  cached: 2,
  cacheWrite: 3,
  output: 4,
  reasoning: 5,
  cost: 6,
  latencyMs: 7,
  firstTokenMs: 8,
  admittedMs: 9,
  readMs: 10,
  decidedMs: 11,
  attemptStartMs: 12,
  attemptMs: 13,
  promptChecksum: 14,
} as const

/** Numbers of a record. */
export const WIDTH = 15

/** Values without names are a third of the size. A batch of many callers has as many of these as records. */
export function toSharedValues(fields: SharedFields, rules: number, warnings: number) {
  return [
    fields.userId,
    fields.keyId,
    fields.groups,
    fields.endpoint,
    fields.requestedModel,
    fields.mode,
    fields.reason,
    fields.status,
    fields.error,
    fields.provider,
    fields.model,
    fields.deployment ?? null,
    rules,
    fields.rulesPosition,
    warnings,
    fields.isStream,
    fields.isCacheHit,
    fields.isAborted,
    fields.isOwnCopy === true,
  ] as const
}

type SharedValues = ReturnType<typeof toSharedValues>

function fromSharedValues(values: SharedValues, lists: readonly (readonly unknown[])[]): SharedFields {
  const fields: { -readonly [Field in keyof SharedFields]: SharedFields[Field] } = {
    userId: values[0],
    keyId: values[1],
    groups: values[2],
    endpoint: values[3],
    requestedModel: values[4],
    mode: values[5],
    reason: values[6],
    status: values[7],
    error: values[8],
    provider: values[9],
    model: values[10],
    // The casts are safe: `BatchEncoder` has written the numbers of the lists.
    rules: (lists[values[12]] ?? []) as LedgerRecord['rules'],
    rulesPosition: values[13],
    warnings: (lists[values[14]] ?? []) as LedgerRecord['warnings'],
    isStream: values[15],
    isCacheHit: values[16],
    isAborted: values[17],
  }
  if (values[11] !== null) fields.deployment = values[11]
  if (values[18]) fields.isOwnCopy = true
  return fields
}

/** Reads what `BatchEncoder` has written. */
export function decodeRecords({ requestIds, figures, shared, extras }: EncodedRecords): RecordBatch {
  const [lists, values]: [readonly (readonly unknown[])[], readonly SharedValues[]] = JSON.parse(shared)
  return new RecordBatch(
    JSON.parse(requestIds),
    typeof figures === 'string' ? toFigures(figures) : figures,
    values.map((each) => fromSharedValues(each, lists)),
    extras === '{}' ? NO_EXTRAS : new Map(Object.entries(JSON.parse(extras)).map(byNumber)),
  )
}

const NO_EXTRAS: ReadonlyMap<number, RecordExtras> = new Map()

function byNumber([index, extras]: readonly [string, unknown]): [number, RecordExtras] {
  // The cast is safe: `BatchEncoder` has written them.
  return [Number(index), extras as RecordExtras]
}

function toFigures(base64: string): Float64Array {
  const bytes = Buffer.from(base64, 'base64')
  // A buffer of the pool may begin between two numbers.
  return new Float64Array(new Uint8Array(bytes).buffer)
}

/** Records in columns. */
export class RecordBatch {
  readonly requestIds: readonly string[]
  readonly figures: Float64Array
  readonly shared: readonly SharedFields[]
  readonly extras: ReadonlyMap<number, RecordExtras>

  constructor(
    requestIds: readonly string[],
    figures: Float64Array,
    shared: readonly SharedFields[],
    extras: ReadonlyMap<number, RecordExtras>,
  ) {
    this.requestIds = requestIds
    this.figures = figures
    this.shared = shared
    this.extras = extras
  }

  get count(): number {
    return this.requestIds.length
  }

  /** Returns a number of a record; null if it does not have it. */
  figure(index: number, place: number): number | null {
    const value = this.figures[index * WIDTH + place] ?? Number.NaN
    return Number.isNaN(value) ? null : value
  }

  extrasOf(index: number): RecordExtras | undefined {
    return this.extras.size === 0 ? undefined : this.extras.get(index)
  }

  /** Returns the number of the record's fields in `shared`. */
  sharedNumber(index: number): number {
    return this.figures[index * WIDTH] ?? 0
  }

  sharedOf(index: number): SharedFields {
    const shared = this.shared[this.sharedNumber(index)]
    if (shared === undefined) throw new RangeError(`there is no record ${index}`)
    return shared
  }

  /** Returns how often each element of `shared` is used. */
  countUses(): Int32Array {
    const uses = new Int32Array(this.shared.length)
    for (let index = 0; index < this.count; index++) {
      const number = this.sharedNumber(index)
      uses[number] = (uses[number] ?? 0) + 1
    }
    return uses
  }

  /** Returns some of the records. What they do not use of `shared` stays unused. */
  pick(indexes: readonly number[]): RecordBatch {
    const figures = new Float64Array(indexes.length * WIDTH)
    const extras = new Map<number, RecordExtras>()
    for (const [to, from] of indexes.entries()) {
      figures.set(this.figures.subarray(from * WIDTH, (from + 1) * WIDTH), to * WIDTH)
      const own = this.extras.get(from)
      if (own !== undefined) extras.set(to, own)
    }
    const requestIds = indexes.map((index) => this.requestIds[index] ?? '')
    return new RecordBatch(requestIds, figures, this.shared, extras)
  }

  recordAt(index: number): LedgerRecord {
    const figure = (place: number) => this.figure(index, place)
    const { provider, model, deployment, ...others } = this.sharedOf(index)
    const [ms, startMs] = [figure(FIGURES.attemptMs), figure(FIGURES.attemptStartMs)]
    const target = {
      provider: provider ?? '',
      model: model ?? '',
      ...(deployment !== undefined && { deployment }),
    }
    const only = { ...target, outcome: 'ok', ms: ms ?? 0, ...(startMs !== null && { startMs }) }
    const times = this.timesOf(index)
    const promptChecksum = figure(FIGURES.promptChecksum)
    return {
      requestId: this.requestIds[index] ?? '',
      ...others,
      ...{ provider, model, ...(deployment !== undefined && { deployment }) },
      attempts: ms === null ? [] : [only],
      tokens: this.#tokensOf(index),
      cost: figure(FIGURES.cost),
      latencyMs: figure(FIGURES.latencyMs) ?? 0,
      firstTokenMs: figure(FIGURES.firstTokenMs),
      ...(times && { times }),
      ...(promptChecksum !== null && { promptChecksum }),
      traceId: null,
      prompt: null,
      ...this.extras.get(index),
    }
  }

  records(): readonly LedgerRecord[] {
    return this.requestIds.map((_, index) => this.recordAt(index))
  }

  timesOf(index: number): RecordedTimes | undefined {
    const admittedMs = this.figure(index, FIGURES.admittedMs)
    const readMs = this.figure(index, FIGURES.readMs)
    const decidedMs = this.figure(index, FIGURES.decidedMs)
    if (admittedMs === null || readMs === null) return undefined
    return decidedMs === null ? [admittedMs, readMs] : [admittedMs, readMs, decidedMs]
  }

  #tokensOf(index: number): LedgerRecord['tokens'] {
    if (this.figure(index, FIGURES.input) === null) return null
    const figure = (place: number) => this.figure(index, place) ?? 0
    return {
      input: figure(FIGURES.input),
      cached: figure(FIGURES.cached),
      cacheWrite: figure(FIGURES.cacheWrite),
      output: figure(FIGURES.output),
      reasoning: figure(FIGURES.reasoning),
    }
  }
}
