import type { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import {
  createProviderError,
  type ProviderErrorCode,
  type ProviderErrorDetails,
} from '../describe-failure.ts'
import { parseJson } from '../read-fields.ts'
import { parseRetryAfter } from '../read-retry-after.ts'
import {
  impliedStatus,
  isQuotaError,
  isTooLong,
  isUnknownModel,
  parseErrorBody,
  type VendorError,
} from './vendor-error.ts'

/** Reads an answer other than 2xx: https://platform.openai.com/docs/guides/error-codes, reference 7.4, 8.5 */
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

function describe(provider: string, status: number, error: VendorError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.code || error.type, message: error.message }
  return createProviderError(code, provider, said, {
    ...(error.param && { param: error.param }),
    ...readWireCode(error),
    retryAfter,
  })
}

function classify(status: number, error: VendorError): ProviderErrorCode {
  if (status === 402 || isQuotaError(error)) return 'provider_quota_exceeded'
  if (status === 401 || status === 403) return 'provider_authentication_error'
  if ((status === 404 || status === 400) && isUnknownModel(error)) return 'model_not_found'
  if (status === 408 || status === 504) return 'provider_timeout'
  if (status === 429 || (status === 503 && error.code === 'slow_down')) return 'provider_rate_limited'
  return status >= 400 && status < 500 ? 'provider_refused' : 'provider_error'
}

/** A number for a code repeats the HTTP status, and says no more than ours. */
function readWireCode(error: VendorError): Pick<ProviderErrorDetails, 'wireCode'> {
  const code = isTooLong(error) ? 'context_length_exceeded' : error.code
  return code === '' || /^\d+$/.test(code) ? {} : { wireCode: code }
}
