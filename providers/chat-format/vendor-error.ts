import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { readString } from '../read-fields.ts'
import { redactKeys } from '../redact-keys.ts'
import { findPlace, readMessage } from './error-message.ts'

/** What a vendor says about a failure; a field it leaves out is empty. `message` holds no keys. */
export interface VendorError {
  readonly message: string
  readonly type: string
  readonly code: string
  readonly param: string
}

/** Reads `{error:{…}}`, and what other vendors of this format send: a list of it, `{error:"…"}`, `{message}`, `{detail}`. */
export function parseErrorBody(body: unknown): VendorError {
  const fields = readFields(body)
  const message = readMessage(fields.message) || readMessage(fields.detail)
  return {
    message: redactKeys(message).slice(0, LONGEST_MESSAGE),
    type: readString(fields.type),
    code: typeof fields.code === 'number' ? String(fields.code) : readString(fields.code),
    param: readString(fields.param) || findPlace(fields.message ?? fields.detail),
  }
}

/** Some vendors repeat the refused input in their message. */
const LONGEST_MESSAGE = 2000

function readFields(body: unknown): JsonObject {
  const outer: unknown = Array.isArray(body) ? body[0] : body
  const error = isJsonObject(outer) ? (outer.error ?? outer) : undefined
  return isJsonObject(error) ? error : { message: error }
}

/** True where only money or a higher limit helps. `code` decides; older vendors say it in `type` only. */
export function isQuotaError({ code, type }: VendorError): boolean {
  const name = code || type
  return QUOTA_CODES.has(name) || name.endsWith('_spend_limit_exceeded')
}

const QUOTA_CODES = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_usage_limit_exceeded',
])

/** True where the vendor has no such model: Mistral says so in `type`, DeepSeek only in words, both with status 400. */
export function isUnknownModel({ code, type, message }: VendorError): boolean {
  return code === 'model_not_found' || type === 'invalid_model' || message === 'Model Not Exist'
}

/** True where the prompt is too large for the model, which only OpenAI has a code for. */
export function isTooLong({ message }: VendorError): boolean {
  return /prompt is too long|too large for model|exceeds the maximum number of tokens|maximum context length/i.test(
    message,
  )
}

/** The HTTP status that an error inside a 200 answer would have had. */
export function impliedStatus({ code, type }: VendorError): number {
  const number = Number(code)
  if (number >= 400 && number < 600) return number
  return STATUSES.get(code) ?? STATUSES.get(type) ?? 500
}

const STATUSES = new Map([
  ['invalid_request_error', 400],
  ['context_length_exceeded', 400],
  ['authentication_error', 401],
  ['invalid_api_key', 401],
  ['permission_error', 403],
  ['model_not_found', 404],
  ['rate_limit_error', 429],
  ['rate_limit_exceeded', 429],
  ['slow_down', 429],
  ['server_is_overloaded', 503],
])
