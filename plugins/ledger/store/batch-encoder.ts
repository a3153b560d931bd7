import type { LedgerRecord, RecordedAttempt } from './record.ts'
import {
  decodeRecords,
  type EncodedRecords,
  FIGURES,
  type RecordBatch,
  type RecordExtras,
  type SharedFields,
  toSharedValues,
  WIDTH,
} from './record-batch.ts'

/** Records that a new batch has room for. */
const FIRST_RECORDS = 16

/** Shared fields of the same key that a record is compared with. Others are written again. */
const MAX_COMPARED = 8

/** Becomes text in messages between processes. */
class Figures extends Float64Array {
  toJSON(): string {
    return Buffer.from(this.buffer, this.byteOffset, this.byteLength).toString('base64')
  }
}

/**
 * Encodes each record when it is added, so that its objects do not outlive the request, and all of them
 * without the names and the texts that they have in common.
 */
export class BatchEncoder {
  readonly requestIds: string[] = []
  #figures = new Figures(FIRST_RECORDS * WIDTH)
  readonly #shared: SharedFields[] = []
  readonly #sharedTexts: string[] = []
  /** The number of the latest shared fields of each key, and of those before. */
  readonly #latestOfKey = new Map<string, number>()
  readonly #before: (number | undefined)[] = []
  readonly #lists = new Map<readonly unknown[], number>()
  readonly #listTexts: string[] = []
  readonly #extras = new Map<number, string>()

  get count(): number {
    return this.requestIds.length
  }

  /** Throws a `TypeError`, and adds nothing, if a number is none, or if a field has no JSON. */
  add(record: LedgerRecord): void {
    this.#put(this.count, record)
    this.requestIds.push(record.requestId)
  }

  replace(index: number, record: LedgerRecord): void {
    this.#extras.delete(index)
    this.#put(index, record)
  }

  /** Reads the prompt of one record. */
  promptAt(index: number): LedgerRecord['prompt'] {
    const text = this.#extras.get(index)
    // The cast is safe: `#put` has written it.
    return text === undefined ? null : ((JSON.parse(text) as RecordExtras).prompt ?? null)
  }

  /** Reads all records, which takes milliseconds. */
  decode(): RecordBatch {
    return decodeRecords(this.encode())
  }

  encode(): EncodedRecords {
    return {
      requestIds: JSON.stringify(this.requestIds),
      figures: this.#figures.slice(0, this.count * WIDTH),
      shared: `[[${this.#listTexts.join()}],[${this.#sharedTexts.join()}]]`,
      extras: `{${Array.from(this.#extras, ([index, text]) => `"${index}":${text}`).join()}}`,
    }
  }

  /** On the hot path. */
  #put(index: number, record: LedgerRecord): void {
    const { tokens, times } = record
    const plain = plainAttemptOf(record)
    const extras = extrasOf(record, plain)
    const extrasText = extras && JSON.stringify(extras)
    const shared = this.#shareFields(record)
    const figures = this.#reserve(index)
    const at = index * WIDTH
    figures[at + FIGURES.shared] = shared
    figures[at + FIGURES.input] = toFigure(tokens?.input)
    figures[at + FIGURES.cached] = toFigure(tokens?.cached)
    figures[at + FIGURES.cacheWrite] = toFigure(tokens?.cacheWrite)
    figures[at + FIGURES.output] = toFigure(tokens?.output)
    figures[at + FIGURES.reasoning] = toFigure(tokens?.reasoning)
    figures[at + FIGURES.cost] = toFigure(record.cost)
    figures[at + FIGURES.latencyMs] = toFigure(record.latencyMs)
    figures[at + FIGURES.firstTokenMs] = toFigure(record.firstTokenMs)
    figures[at + FIGURES.admittedMs] = toFigure(times?.[0])
    figures[at + FIGURES.readMs] = toFigure(times?.[1])
    figures[at + FIGURES.decidedMs] = toFigure(times?.[2])
    figures[at + FIGURES.attemptStartMs] = toFigure(plain?.startMs)
    figures[at + FIGURES.attemptMs] = toFigure(plain?.ms)
    figures[at + FIGURES.promptChecksum] = toFigure(record.promptChecksum)
    if (extrasText !== undefined) this.#extras.set(index, extrasText)
  }

  #reserve(index: number): Figures {
    if ((index + 1) * WIDTH > this.#figures.length) {
      const larger = new Figures(this.#figures.length * 2)
      larger.set(this.#figures)
      this.#figures = larger
    }
    return this.#figures
  }

  /** Returns the number of the record's shared fields. */
  #shareFields(record: LedgerRecord): number {
    const latest = this.#latestOfKey.get(record.keyId)
    let known = latest
    for (let tries = 0; known !== undefined && tries < MAX_COMPARED; tries++) {
      const fields = this.#shared[known]
      if (fields !== undefined && hasFields(record, fields)) return known
      known = this.#before[known]
    }
    const fields = sharedFieldsOf(record)
    const values = toSharedValues(fields, this.#shareList(fields.rules), this.#shareList(fields.warnings))
    this.#sharedTexts.push(JSON.stringify(values))
    this.#latestOfKey.set(record.keyId, this.#shared.length)
    this.#before.push(latest)
    return this.#shared.push(fields) - 1
  }

  #shareList(list: readonly unknown[]): number {
    let number = this.#lists.get(list)
    if (number === undefined) {
      number = this.#listTexts.push(JSON.stringify(list)) - 1
      this.#lists.set(list, number)
    }
    return number
  }
}

export function encodeRecords(records: readonly LedgerRecord[]): EncodedRecords {
  const encoder = new BatchEncoder()
  for (const record of records) encoder.add(record)
  return encoder.encode()
}

function toFigure(value: number | null | undefined): number {
  if (typeof value === 'number') return Number.isFinite(value) ? value : Number.NaN
  if (value === null || value === undefined) return Number.NaN
  // A plugin has put it there.
  throw new TypeError('a number of a record is none')
}

/** Returns the attempt of nearly all requests: the target that replied, which succeeded at once. */
function plainAttemptOf(record: LedgerRecord): RecordedAttempt | undefined {
  const { attempts, provider, model, deployment } = record
  const only = attempts[0]
  if (attempts.length !== 1 || only === undefined || only.outcome !== 'ok') return undefined
  const isTarget = only.provider === provider && only.model === model && only.deployment === deployment
  return isTarget ? only : undefined
}

function extrasOf(record: LedgerRecord, plain: RecordedAttempt | undefined): RecordExtras | undefined {
  const { prompt, traceId, attempts, router, arm, shadowOf, signals, assumedCost, sessionId, features } =
    record
  const hasAttempts = plain === undefined && attempts.length > 0
  if (
    !hasAttempts &&
    prompt === null &&
    traceId === null &&
    router === undefined &&
    arm === undefined &&
    shadowOf === undefined &&
    signals === undefined &&
    assumedCost === undefined &&
    sessionId === undefined &&
    features === undefined
  )
    return undefined
  return {
    ...(hasAttempts && { attempts }),
    ...(prompt !== null && { prompt }),
    ...(traceId !== null && { traceId }),
    ...(router && { router }),
    ...(arm !== undefined && { arm }),
    ...(shadowOf !== undefined && { shadowOf }),
    ...(signals && { signals }),
    ...(assumedCost !== undefined && { assumedCost }),
    ...(sessionId !== undefined && { sessionId }),
    ...(features !== undefined && { features }),
  }
}

function sharedFieldsOf(record: LedgerRecord): SharedFields {
  const fields: { -readonly [Field in keyof SharedFields]: SharedFields[Field] } = {
    userId: record.userId,
    keyId: record.keyId,
    groups: record.groups,
    endpoint: record.endpoint,
    requestedModel: record.requestedModel,
    mode: record.mode,
    reason: record.reason,
    status: record.status,
    error: record.error,
    provider: record.provider,
    model: record.model,
    rules: record.rules,
    rulesPosition: record.rulesPosition,
    warnings: record.warnings,
    isStream: record.isStream,
    isCacheHit: record.isCacheHit,
    isAborted: record.isAborted,
  }
  if (record.deployment !== undefined) fields.deployment = record.deployment
  if (record.isOwnCopy) fields.isOwnCopy = true
  return fields
}

/** Lists and errors are compared by identity: requests share them. */
function hasFields(record: LedgerRecord, fields: SharedFields): boolean {
  return (
    record.model === fields.model &&
    record.endpoint === fields.endpoint &&
    record.status === fields.status &&
    record.error === fields.error &&
    record.rules === fields.rules &&
    record.warnings === fields.warnings &&
    record.rulesPosition === fields.rulesPosition &&
    record.isStream === fields.isStream &&
    record.isCacheHit === fields.isCacheHit &&
    record.isAborted === fields.isAborted &&
    record.isOwnCopy === fields.isOwnCopy &&
    record.userId === fields.userId &&
    record.groups === fields.groups &&
    record.provider === fields.provider &&
    record.deployment === fields.deployment &&
    record.mode === fields.mode &&
    record.requestedModel === fields.requestedModel &&
    record.reason === fields.reason
  )
}
