import type { JsonObject } from '../../core/contract/json.ts'
import { findParam } from '../shared/error-body.ts'
import {
  createErrorParser,
  type ProviderErrorBody,
  type ProviderErrorCode,
  type ProviderErrorDetails,
} from '../shared/errors.ts'
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
  /** From BadRequest or the message: the path of the first refused field, such as `contents[0].parts[0]`. */
  readonly field: string
}

/**
 * `parseResponse` parses an error response, `parseRecord` an `{error}` record within a 200 response:
 * https://ai.google.dev/gemini-api/docs/troubleshooting and docs/providers.md, "Gemini".
 */
export const { parseResponse: parseGeminiError, parseRecord: parseGeminiErrorRecord } =
  createErrorParser<GeminiError>({
    parseBody,
    classify,
    toDetails,
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
  const message = asString(fields.message) || asString(error)
  const [violation] = asObjects(findDetail(details, 'BadRequest').fieldViolations)
  return {
    message,
    field: asString(violation?.field) || (NAMED_FIELD.exec(message)?.[1] ?? ''),
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

/** As in "Invalid value at 'contents[0]' (…)" and "* GenerateContentRequest.contents: …". */
const NAMED_FIELD = /(?:Invalid value at '|\* \w+Request\.)([\w.[\]]+)/

/** Finds a detail by the end of its type, which is of the form `type.googleapis.com/google.rpc.RetryInfo`. */
function findDetail(details: readonly JsonObject[], name: string): JsonObject {
  return asObject(details.find((detail) => asString(detail['@type']).endsWith(`.${name}`)))
}

/** Parses a duration such as `34.07s`, in seconds. */
function parseDuration(value: unknown): number | undefined {
  const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(asString(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

function classify(status: number, { reason, quotaIds, message }: GeminiError): ProviderErrorCode | undefined {
  if (status === 402 || quotaIds.some((id) => /PerDay/i.test(id))) return 'provider_quota_exceeded'
  if (reason === 'API_KEY_INVALID') return 'provider_authentication_error'
  return status === 404 || (status === 400 && NOT_IN_REGION.test(message)) ? 'model_not_found' : undefined
}

/** Of Vertex AI. */
const NOT_IN_REGION = /\bis not servable in region\b/

function toDetails({ field }: GeminiError): ProviderErrorDetails {
  const path = field.replace(/^\w+Request\./, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const param = findParam(path, FIELDS)
  return param === undefined ? {} : { param }
}

/** Paths in either of the API's spellings, as `system_instruction`. */
const FIELDS = new Map([
  ['model', 'model'],
  ...['contents', 'system_instruction', 'content', 'requests'].map((name) => [name, 'messages'] as const),
  ...['temperature', 'top_p', 'top_k', 'seed', 'presence_penalty', 'frequency_penalty'].map(
    (name) => [`generation_config.${name}`, name] as const,
  ),
  ['generation_config.max_output_tokens', 'max_tokens'],
  ['generation_config.stop_sequences', 'stop'],
  ['generation_config.thinking_config', 'reasoning_effort'],
  ...['response_schema', 'response_json_schema', 'response_mime_type'].map(
    (name) => [`generation_config.${name}`, 'response_format'] as const,
  ),
  ['tools', 'tools'],
  ['tool_config', 'tool_choice'],
  ['requests.output_dimensionality', 'dimensions'],
])

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
