import type { SseEvent } from '../../../core/contract/index.ts'
import type { Refusal } from '../refusal.ts'

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Anthropic's error body: `{type, error:{type, message, details?}, request_id}`. */
export function writeError({ status, message, details }: Refusal): string {
  const type = TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const { code } = details
  const error = code === undefined ? { type, message } : { type, message, details: { error_code: code } }
  return JSON.stringify({ type: 'error', error, request_id: 'req_sandbox' })
}

/** A failure in mid-stream is an event of its own, with the same body. */
export function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: 'error', data: writeError(refusal) }
}
