import type { JsonObject } from '../../core/contract/json.ts'
import { createErrorParser, type ProviderErrorBody, type ProviderErrorCode } from '../shared/errors.ts'
import { asNumber, asObject, asObjects, asString } from '../shared/fields.ts'

/** A `google.rpc.Status`; a missing text is empty. */
interface GeminiError extends ProviderErrorBody {
  /** Such as `INVALID_ARGUMENT`. */
  readonly status: string
  /** The HTTP status. */
  readonly code: number | undefined
  /** From ErrorInfo, such as `API_KEY_INVALID`. */
  readonly reason: string
  /** From RetryInfo, in seconds. */
  readonly retryDelay: number | undefined
  /** From QuotaFailure: the exceeded limits, such as `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. */
  readonly quotaIds: readonly string[]
}

/**
 * `parseResponse` parses an error response, `parseRecord` an `{error}` record within a 200 response:
 * https://ai.google.dev/gemini-api/docs/troubleshooting and docs/providers.md, "Gemini errors".
 */
export const { parseResponse: parseGeminiError, parseRecord: parseGeminiErrorRecord } =
  createErrorParser<GeminiError>({
    parseBody,
    classify,
    toDetails: () => ({}),
    toStatus,
    retryAfter,
  })

/** Parses `{error:{…}}`, an array of it, and `{error:"…"}`. */
function parseBody(body: unknown): GeminiError {
  const outer = Array.isArray(body) ? body[0] : body
  const { error } = asObject(outer)
  const fields = asObject(error)
  const details = asObjects(fields.details)
  const status = asString(fields.status)
  const reason = asString(findDetail(details, 'ErrorInfo').reason)
  return {
    message: asString(fields.message) || asString(error),
    logCode: reason || status,
    status,
    code: asNumber(fields.code),
    reason,
    retryDelay: parseDuration(findDetail(details, 'RetryInfo').retryDelay),
    quotaIds: asObjects(findDetail(details, 'QuotaFailure').violations).map(({ quotaId }) =>
      asString(quotaId),
    ),
  }
}

/** Finds a detail by the end of its type, which is of the form `type.googleapis.com/google.rpc.RetryInfo`. */
function findDetail(details: readonly JsonObject[], name: string): JsonObject {
  return asObject(details.find((detail) => asString(detail['@type']).endsWith(`.${name}`)))
}

/** Parses a duration such as `34.07s`, in seconds. */
function parseDuration(value: unknown): number | undefined {
  const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(asString(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

function classify(status: number, { reason, quotaIds }: GeminiError): ProviderErrorCode | undefined {
  if (status === 402 || quotaIds.some((id) => /PerDay/i.test(id))) return 'provider_quota_exceeded'
  if (reason === 'API_KEY_INVALID') return 'provider_authentication_error'
  return status === 404 ? 'model_not_found' : undefined
}

function retryAfter({ retryDelay }: GeminiError): number | undefined {
  return retryDelay === undefined ? undefined : Math.max(1, Math.ceil(retryDelay))
}

function toStatus({ code, status }: GeminiError): number {
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
