import type { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { createProviderError, type ProviderErrorCode } from '../describe-failure.ts'
import { parseJson } from '../read-fields.ts'
import { parseRetryAfter } from '../read-retry-after.ts'
import { impliedStatus, readVendorError, type VendorError } from './vendor-error.ts'

/** Reads an answer other than 2xx: https://ai.google.dev/gemini-api/docs/troubleshooting */
export function readFailure({ provider, status, headers, body }: ProviderErrorResponse): GatewayError {
  return describe(provider, status, readVendorError(parseJson(body)), parseRetryAfter(headers))
}

/** Reads an `{error}` record that came inside a 200 answer. */
export function readFailureRecord(record: JsonObject): GatewayError {
  const error = readVendorError(record)
  return describe('The provider', impliedStatus(error), error)
}

function describe(provider: string, status: number, error: VendorError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.reason || error.status, message: error.message }
  const tooLong = isTooLong(error) && { wireCode: 'context_length_exceeded', param: 'messages' }
  return createProviderError(code, provider, said, {
    ...(code === 'provider_refused' && tooLong),
    retryAfter: retryAfter ?? readDelay(error),
  })
}

function classify(status: number, error: VendorError): ProviderErrorCode {
  if (status === 402 || error.quotas.some((quota) => /PerDay/i.test(quota))) return 'provider_quota_exceeded'
  if (status === 401 || status === 403 || error.reason === 'API_KEY_INVALID') {
    return 'provider_authentication_error'
  }
  if (status === 404) return 'model_not_found'
  if (status === 408 || status === 504) return 'provider_timeout'
  if (status === 429) return 'provider_rate_limited'
  return status >= 400 && status < 499 ? 'provider_refused' : 'provider_error'
}

/** Whole seconds, at least 1. */
function readDelay({ retryDelay }: VendorError): number | undefined {
  return retryDelay === undefined ? undefined : Math.max(1, Math.ceil(retryDelay))
}

function isTooLong({ message }: VendorError): boolean {
  return /exceeds the maximum number of tokens/i.test(message)
}
