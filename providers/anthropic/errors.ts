import type { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { parseErrorBody as readCommon } from '../chat-format/errors.ts'
import { createProviderError, type ProviderErrorCode, parseRetryAfter } from '../shared/errors.ts'
import { asObject, asString, parseObject } from '../shared/fields.ts'

/** Reads an answer other than 2xx (docs/providers.md, "Anthropic errors"). */
export function readFailure({ provider, status, headers, body }: ProviderErrorResponse): GatewayError {
  const retryAfter = parseRetryAfter(headers) ?? readReset(headers)
  return describe(provider, status, readProviderError(parseObject(body)), retryAfter)
}

/** Reads an `error` record that came inside a 200 answer. */
export function readFailureRecord(record: JsonObject): GatewayError {
  const error = readProviderError(record)
  return describe('The provider', impliedStatus(error), error)
}

function describe(provider: string, status: number, error: ProviderError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.code || error.type, message: error.message }
  const tooLong = TOO_LONG.test(error.message) && { wireCode: 'context_length_exceeded' }
  return createProviderError(code, provider, said, { ...tooLong, retryAfter })
}

function classify(status: number, { type, code, message }: ProviderError): ProviderErrorCode {
  if (status === 402 || SPENT.test(code) || (status === 400 && BROKE.test(message))) {
    return 'provider_quota_exceeded'
  }
  if (status === 401 || status === 403) return 'provider_authentication_error'
  if (status === 404 && type === 'not_found_error' && /^model\b/.test(message)) return 'model_not_found'
  if (status === 408 || status === 504) return 'provider_timeout'
  if (status === 429) return 'provider_rate_limited'
  return status >= 400 && status < 500 ? 'provider_refused' : 'provider_error'
}

/** Such as `enforced_spend_limit_reached`. */
const SPENT = /_spend_limit_reached$/
/** An empty account is a plain bad request; only its message tells. */
const BROKE = /credit balance is too low|spend limit|reached your specified API usage limits/i
const TOO_LONG = /prompt is too long|exceeds? (?:the )?(?:model's )?(?:maximum )?context/i

const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens']

/**
 * Whole seconds until every limit that is used up is reset, from `anthropic-ratelimit-*` (docs/providers.md, "Anthropic errors"); undefined where
 * none is.
 */
function readReset(headers: ProviderErrorResponse['headers'], now = Date.now()): number | undefined {
  const resets = LIMITS.map((limit) => `anthropic-ratelimit-${limit}`)
    .filter((name) => headers[`${name}-remaining`] === '0')
    .map((name) => Date.parse(String(headers[`${name}-reset`])))
    .filter((time) => !Number.isNaN(time))
  if (resets.length === 0) return undefined
  return Math.max(1, Math.ceil((Math.max(...resets) - now) / 1000))
}

/** What Anthropic says about a failure; a field it leaves out is empty. `message` holds no keys. */
interface ProviderError {
  readonly type: string
  /** `details.error_code`: finer than the type, and given for few errors. */
  readonly code: string
  readonly message: string
}

/** Reads `{type:"error", error:{type, message, details?}}` (docs/providers.md, "Anthropic errors"), and what a proxy in front may send. */
function readProviderError(body: unknown): ProviderError {
  const { type, message } = readCommon(body)
  const { details } = asObject(asObject(body).error)
  return { type, code: asString(asObject(details).error_code), message }
}

/** The HTTP status that an error inside a 200 answer would have had. */
function impliedStatus({ type }: ProviderError): number {
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
