import type { JsonObject, SseEvent } from '../../../core/contract/index.ts'
import type { Refusal } from '../refusal.ts'

const STATUSES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Google's error body: `{error:{code,message,status,details}}`. */
export function writeError({ status: code, message, details }: Refusal): string {
  const status = STATUSES[code] ?? 'UNKNOWN'
  return JSON.stringify({ error: { code, message, status, details: writeDetails(code, details.code) } })
}

/** A failure in mid-stream is a record like any other, with the same body. */
export function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: '', data: writeError(refusal) }
}

/** A code is the limit that was hit, for an answer of 429, and else a reason such as `API_KEY_INVALID`. */
function writeDetails(status: number, code: string | undefined): readonly JsonObject[] {
  if (status === 429) {
    const quotaId = code ?? 'GenerateRequestsPerMinutePerProjectPerModel'
    return [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId }] }]
  }
  if (code === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'googleapis.com' }]
}
