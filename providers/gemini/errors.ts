import type { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { createProviderError, type ProviderErrorCode, parseRetryAfter, redactKeys } from '../shared/errors.ts'
import { asNumber, asObject, asObjects, asString, parseJson } from '../shared/fields.ts'

/** Reads an answer other than 2xx: https://ai.google.dev/gemini-api/docs/troubleshooting */
export function readFailure({ provider, status, headers, body }: ProviderErrorResponse): GatewayError {
  return describe(provider, status, readProviderError(parseJson(body)), parseRetryAfter(headers))
}

/** Reads an `{error}` record that came inside a 200 answer. */
export function readFailureRecord(record: JsonObject): GatewayError {
  const error = readProviderError(record)
  return describe('The provider', impliedStatus(error), error)
}

function describe(provider: string, status: number, error: ProviderError, retryAfter?: number): GatewayError {
  const code = classify(status, error)
  const said = { status, code: error.reason || error.status, message: error.message }
  const tooLong = isTooLong(error) && { wireCode: 'context_length_exceeded', param: 'messages' }
  return createProviderError(code, provider, said, {
    ...(code === 'provider_refused' && tooLong),
    retryAfter: retryAfter ?? readDelay(error),
  })
}

function classify(status: number, error: ProviderError): ProviderErrorCode {
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
function readDelay({ retryDelay }: ProviderError): number | undefined {
  return retryDelay === undefined ? undefined : Math.max(1, Math.ceil(retryDelay))
}

function isTooLong({ message }: ProviderError): boolean {
  return /exceeds the maximum number of tokens/i.test(message)
}

/** What Google says about a failure (google.rpc.Status); a field it leaves out is empty. `message` holds no keys. */
interface ProviderError {
  readonly message: string
  /** Such as `INVALID_ARGUMENT`. */
  readonly status: string
  /** The HTTP status; undefined where it is left out. */
  readonly code: number | undefined
  /** From ErrorInfo, such as `API_KEY_INVALID`. */
  readonly reason: string
  /** From RetryInfo, in seconds. */
  readonly retryDelay: number | undefined
  /** From QuotaFailure: the limits that were hit, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
  readonly quotas: readonly string[]
}

/** Reads `{error:{…}}`, a list of it, `{error:"…"}`, or plain text. */
function readProviderError(body: unknown): ProviderError {
  const outer = Array.isArray(body) ? body[0] : body
  const { error } = asObject(outer)
  const fields = asObject(error)
  const details = asObjects(fields.details)
  const message = asString(fields.message) || asString(error)
  return {
    message: redactKeys(message).slice(0, LONGEST_MESSAGE),
    status: asString(fields.status),
    code: asNumber(fields.code),
    reason: asString(findDetail(details, 'ErrorInfo').reason),
    retryDelay: readDuration(findDetail(details, 'RetryInfo').retryDelay),
    quotas: asObjects(findDetail(details, 'QuotaFailure').violations).map(({ quotaId }) => asString(quotaId)),
  }
}

/** Providers may repeat the refused input in their message. */
const LONGEST_MESSAGE = 2000

/** By the end of its type: `type.googleapis.com/google.rpc.RetryInfo`. */
function findDetail(details: readonly JsonObject[], name: string): JsonObject {
  return asObject(details.find((detail) => asString(detail['@type']).endsWith(`.${name}`)))
}

/** Such as `34.07s`. */
function readDuration(value: unknown): number | undefined {
  const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(asString(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

/** The HTTP status that an error inside a 200 answer would have had. */
function impliedStatus({ code, status }: ProviderError): number {
  return code !== undefined && code >= 400 && code < 600 ? code : (STATUSES.get(status) ?? 500)
}

/** https://cloud.google.com/apis/design/errors#handling_errors */
const STATUSES = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['RESOURCE_EXHAUSTED', 429],
  ['CANCELLED', 499],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
])
