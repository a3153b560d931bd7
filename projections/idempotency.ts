import type { FindKnownRequest, KnownRequest } from '../core/http/change-headers.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** Requests with an `Idempotency-Key` are remembered this long. */
const RETENTION_MS = 24 * 60 * 60 * 1000

/** The oldest requests are forgotten earlier if there are more: about 50 MB. */
const MAX_REQUESTS = 100_000

/** The requests of the last 24 hours that had an `Idempotency-Key`, in memory. */
export interface IdempotentRequests extends SavedProjection {
  readonly find: FindKnownRequest
}

interface DatedRequest extends KnownRequest {
  /** Unix time in milliseconds. */
  readonly at: number
}

export function createIdempotentRequests(now: () => number = Date.now): IdempotentRequests {
  /** By key, oldest first. */
  const requests = new Map<string, DatedRequest>()

  function forgetOld(before: number): void {
    for (const [key, { at }] of requests) {
      if (at >= before && requests.size <= MAX_REQUESTS) return
      requests.delete(key)
    }
  }

  return {
    name: 'idempotency',
    apply(event, record) {
      const { idempotency, time } = record.metadata
      if (idempotency === undefined) return
      const at = Date.parse(time)
      const known = requests.get(idempotency.key)
      // A key may be used again once its first request is forgotten.
      const earlier = known?.request === idempotency.request ? known : undefined
      if (earlier?.change !== undefined) return
      const { stream, revision } = record
      const details =
        event.type === 'IdsReserved' ? { firstId: event.data.first } : { change: { stream, revision } }
      requests.set(idempotency.key, { ...earlier, ...idempotency, ...details, at })
      forgetOld(at - RETENTION_MS)
    },
    find(key) {
      const request = requests.get(key)
      return request !== undefined && request.at > now() - RETENTION_MS ? request : undefined
    },
    save: () => [...requests.values()].map((request) => JSON.stringify(request)),
    load(lines) {
      for (const line of lines) {
        const request: DatedRequest = JSON.parse(line.toString())
        requests.set(request.key, request)
      }
    },
  }
}
