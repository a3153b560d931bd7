import type { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { createProviderError, type ProviderErrorCode } from '../describe-failure.ts'
import { parseObject } from '../read-fields.ts'
import { parseRetryAfter } from '../read-retry-after.ts'
import { readReset } from './read-reset.ts'
import { impliedStatus, readVendorError, type VendorError } from './vendor-error.ts'

/** Reads an answer other than 2xx (reference 5.8). */
export function readFailure({ provider, status, headers, body }: ProviderErrorResponse): GatewayError {
  const retryAfter = parseRetryAfter(headers) ?? readReset(headers)
  return describe(provider, status, readVendorError(parseObject(body)), retryAfter)
}

/** Reads an `error` record that came inside a 200 answer. */
export function readFailureRecord(record: JsonObject): GatewayError {
  const error = readVendorError(record)
  return describe('The provider', impliedStatus(error), error)
}

function describe(provider: string, status: number, error: VendorError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.code || error.type, message: error.message }
  const tooLong = TOO_LONG.test(error.message) && { wireCode: 'context_length_exceeded' }
  return createProviderError(code, provider, said, { ...tooLong, retryAfter })
}

function classify(status: number, { type, code, message }: VendorError): ProviderErrorCode {
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
