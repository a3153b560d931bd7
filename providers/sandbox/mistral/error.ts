import type { SseEvent } from '../../../core/contract/index.ts'
import type { Refusal } from '../refusal.ts'

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  403: 'authentication_error',
  404: 'invalid_request_error',
  429: 'rate_limit_error',
}

/** Mistral's error bodies: its own, the validator's for 422, and one word from the door for 401. */
export function writeError(refusal: Refusal): string {
  switch (refusal.status) {
    case 401:
      return JSON.stringify({ detail: 'Unauthorized' })
    case 422:
      return JSON.stringify({ detail: [writeFault(refusal)] })
    default:
      return JSON.stringify(writeRecord(refusal))
  }
}

/** A failure in mid-stream. */
export function writeErrorEvent(refusal: Refusal): SseEvent {
  return { event: '', data: JSON.stringify(writeRecord(refusal)) }
}

function writeRecord({ status, message, details }: Refusal) {
  const type = TYPES[status] ?? (status >= 500 ? 'server_error' : 'invalid_request_error')
  return { object: 'error', message, type, param: details.param ?? null, code: details.code ?? null }
}

function writeFault({ message, details: { param = '', code = 'value_error' } }: Refusal) {
  const place = param === '' ? [] : param.split('.')
  const loc = ['body', ...place.map((step) => (/^\d+$/.test(step) ? Number(step) : step))]
  return { type: code, loc, msg: message }
}
