import type { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import {
  createProviderError,
  type ProviderErrorCode,
  type ProviderErrorDetails,
  parseRetryAfter,
  redactKeys,
} from '../shared/errors.ts'
import { asString, parseJson } from '../shared/fields.ts'

/** Reads an answer other than 2xx: https://platform.openai.com/docs/guides/error-codes, docs/providers.md, "Mistral errors" */
export function parseChatError({ provider, status, headers, body }: ProviderErrorResponse): GatewayError {
  return describe(provider, status, parseErrorBody(parseJson(body)), parseRetryAfter(headers))
}

/** True for a record that reports a failure: `{error}`, or Mistral's `{object:"error"}`. */
export function isFailure(record: JsonObject): boolean {
  return record.error != null || record.object === 'error'
}

/** Reads an error record that came inside a 200 answer. */
export function readFailureRecord(record: JsonObject): GatewayError {
  const error = parseErrorBody(record)
  return describe('The provider', impliedStatus(error), error)
}

function describe(provider: string, status: number, error: ProviderError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.code || error.type, message: error.message }
  return createProviderError(code, provider, said, {
    ...(error.param && { param: error.param }),
    ...readWireCode(error),
    retryAfter,
  })
}

function classify(status: number, error: ProviderError): ProviderErrorCode {
  if (status === 402 || isQuotaError(error)) return 'provider_quota_exceeded'
  if (status === 401 || status === 403) return 'provider_authentication_error'
  if ((status === 404 || status === 400) && isUnknownModel(error)) return 'model_not_found'
  if (status === 408 || status === 504) return 'provider_timeout'
  if (status === 429 || (status === 503 && error.code === 'slow_down')) return 'provider_rate_limited'
  return status >= 400 && status < 500 ? 'provider_refused' : 'provider_error'
}

/** A number for a code repeats the HTTP status, and says no more than ours. */
function readWireCode(error: ProviderError): Pick<ProviderErrorDetails, 'wireCode'> {
  const code = isTooLong(error) ? 'context_length_exceeded' : error.code
  return code === '' || /^\d+$/.test(code) ? {} : { wireCode: code }
}

/** What a provider says about a failure; a field it leaves out is empty. `message` holds no keys. */
interface ProviderError {
  readonly message: string
  readonly type: string
  readonly code: string
  readonly param: string
}

/** Reads `{error:{…}}`, and what other providers of this format send: a list of it, `{error:"…"}`, `{message}`, `{detail}`. */
export function parseErrorBody(body: unknown): ProviderError {
  const fields = readFields(body)
  const message = readMessage(fields.message) || readMessage(fields.detail)
  return {
    message: redactKeys(message).slice(0, LONGEST_MESSAGE),
    type: asString(fields.type),
    code: typeof fields.code === 'number' ? String(fields.code) : asString(fields.code),
    param: asString(fields.param) || findPlace(fields.message ?? fields.detail),
  }
}

/** Some providers repeat the refused input in their message. */
const LONGEST_MESSAGE = 2000

function readFields(body: unknown): JsonObject {
  const outer: unknown = Array.isArray(body) ? body[0] : body
  const error = isJsonObject(outer) ? (outer.error ?? outer) : undefined
  return isJsonObject(error) ? error : { message: error }
}

/** True where only money or a higher limit helps. `code` decides; older providers say it in `type` only. */
function isQuotaError({ code, type }: ProviderError): boolean {
  const name = code || type
  return QUOTA_CODES.has(name) || name.endsWith('_spend_limit_exceeded')
}

const QUOTA_CODES = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_usage_limit_exceeded',
])

/** True where the provider has no such model: Mistral says so in `type`, DeepSeek only in words, both with status 400. */
function isUnknownModel({ code, type, message }: ProviderError): boolean {
  return code === 'model_not_found' || type === 'invalid_model' || message === 'Model Not Exist'
}

/** True where the prompt is too large for the model, which only OpenAI has a code for. */
function isTooLong({ message }: ProviderError): boolean {
  return /prompt is too long|too large for model|exceeds the maximum number of tokens|maximum context length/i.test(
    message,
  )
}

/** The HTTP status that an error inside a 200 answer would have had. */
function impliedStatus({ code, type }: ProviderError): number {
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

/**
 * The words of an error's message: a string, or what validators send in its place, a list of `{loc, msg}` or an object
 * with such a list as `detail` (docs/providers.md, "Mistral errors"). Empty when there are none.
 */
function readMessage(value: unknown): string {
  if (Array.isArray(value)) return value.map(readMessage).filter(Boolean).join('; ')
  if (!isJsonObject(value)) return asString(value)
  const said = asString(value.msg)
  if (said === '') return readMessage(value.detail ?? value.message)
  const place = readPlace(value)
  return place === '' ? said : `${place}: ${said}`
}

/** The request field that a validator complains about first, such as `messages.0.name`; empty when it names none. */
function findPlace(value: unknown): string {
  if (Array.isArray(value)) return findPlace(value[0])
  if (!isJsonObject(value)) return ''
  return Array.isArray(value.loc) ? readPlace(value) : findPlace(value.detail)
}

function readPlace({ loc }: JsonObject): string {
  return Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : ''
}
