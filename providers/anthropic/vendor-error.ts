import { parseErrorBody as readCommon } from '../chat-format/vendor-error.ts'
import { readObject, readString } from '../read-fields.ts'

/** What Anthropic says about a failure; a field it leaves out is empty. `message` holds no keys. */
export interface VendorError {
  readonly type: string
  /** `details.error_code`: finer than the type, and given for few errors. */
  readonly code: string
  readonly message: string
}

/** Reads `{type:"error", error:{type, message, details?}}` (reference 5.8), and what a proxy in front may send. */
export function readVendorError(body: unknown): VendorError {
  const { type, message } = readCommon(body)
  const { details } = readObject(readObject(body).error)
  return { type, code: readString(readObject(details).error_code), message }
}

/** The HTTP status that an error inside a 200 answer would have had. */
export function impliedStatus({ type }: VendorError): number {
  return STATUSES.get(type) ?? 500
}

const STATUSES = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['conflict_error', 409],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])
