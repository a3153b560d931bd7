import type { SseEvent } from '../../../core/contract/index.ts'
import type { Refusal } from '../refusal.ts'

interface Kind {
  readonly type: string
  readonly code: string | null
}

const KINDS: Readonly<Record<number, Kind>> = {
  401: { type: 'authentication_error', code: 'invalid_api_key' },
  403: { type: 'permission_error', code: null },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  503: { type: 'service_unavailable_error', code: 'server_is_overloaded' },
}

/** OpenAI's error body: `{error:{message,type,param,code}}`. */
export function writeError({ status, message, details }: Refusal): string {
  const { type, code } = KINDS[status] ?? { type: readType(status), code: null }
  const { param = null } = details
  return JSON.stringify({ error: { message, type, param, code: details.code ?? code } })
}

/** A failure in mid-stream is a record like any other, with the same body. */
export function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: '', data: writeError(refusal) }
}

function readType(status: number): string {
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
