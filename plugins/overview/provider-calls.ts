import { HOUR_MS, type Ledger, type StoredRecord, timeOfRecordId } from '../ledger/index.ts'

const PERIOD_MS = HOUR_MS

/** The newest requests tell enough, and are read within a second. */
const MAX_REQUESTS = 2000

/** The calls of a provider, or of a model there. */
export class Calls {
  readonly #latencies: number[] = []
  #errors = 0
  #lastError: CallError | undefined

  /** Newest first. */
  add(attempt: StoredRecord['attempts'][number], record: StoredRecord): void {
    const { outcome, ms, model, deployment = null } = attempt
    if (outcome === 'cancelled') return
    if (outcome === 'ok') {
      this.#latencies.push(ms)
      return
    }
    this.#errors += 1
    const time = new Date(timeOfRecordId(record.id)).toISOString()
    this.#lastError ??= { code: outcome, model, deployment, time, request_id: record.requestId }
  }

  show() {
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? null
    return {
      calls: sorted.length + this.#errors,
      errors: this.#errors,
      latency_p50_ms: at(0.5),
      latency_p95_ms: at(0.95),
      last_error: this.#lastError ?? null,
    }
  }
}

interface CallError {
  readonly code: string
  readonly model: string
  readonly deployment: string | null
  readonly time: string
  readonly request_id: string
}

export interface RecentCalls {
  readonly since: string
  readonly requests: number
  readonly isPartial: boolean
  readonly byProvider: ReadonlyMap<string, Calls>
  /** By `targetKey`. */
  readonly byTarget: ReadonlyMap<string, CalledTarget>
}

interface CalledTarget {
  readonly provider: string
  readonly model: string
  readonly deployment: string | undefined
  readonly calls: Calls
}

export function targetKey(provider: string, model: string, deployment: string | undefined): string {
  return JSON.stringify([provider, model, deployment])
}

/** Returns the calls of the last hour by all processes that write this ledger. Rejects if it is away. */
export async function readRecentCalls(
  ledger: Pick<Ledger, 'flush' | 'list'>,
  now = Date.now(),
): Promise<RecentCalls> {
  await ledger.flush()
  const since = now - PERIOD_MS
  const filter = { since, copies: 'include' as const }
  const { records, next } = await ledger.list({ filter, limit: MAX_REQUESTS })
  const byProvider = new Map<string, Calls>()
  const byTarget = new Map<string, CalledTarget>()
  for (const record of records)
    for (const attempt of record.attempts) {
      const { provider, model, deployment } = attempt
      const ofProvider = byProvider.get(provider) ?? new Calls()
      byProvider.set(provider, ofProvider)
      const key = targetKey(provider, model, deployment)
      const target = byTarget.get(key) ?? { provider, model, deployment, calls: new Calls() }
      byTarget.set(key, target)
      ofProvider.add(attempt, record)
      target.calls.add(attempt, record)
    }
  const time = new Date(since).toISOString()
  return { since: time, requests: records.length, isPartial: next !== undefined, byProvider, byTarget }
}
