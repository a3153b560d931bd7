import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { type ErrorBody, findParam, isReportedError, parseErrorBody } from '../shared/error-body.ts'
import {
  createErrorParser,
  type ProviderErrorBody,
  type ProviderErrorCode,
  type ProviderErrorDetails,
} from '../shared/errors.ts'

interface ChatError extends ErrorBody, ProviderErrorBody {}

/**
 * `parseResponse` parses an error response, `parseRecord` an error record within a 200 response:
 * https://platform.openai.com/docs/guides/error-codes and docs/providers.md, "Mistral".
 */
export const { parseResponse: parseChatError, parseRecord: parseChatErrorRecord } =
  createErrorParser<ChatError>({ parseBody, classify, toDetails, toStatus, retryAfter })

/** True for a record that reports an error: `{error}`, or Mistral's `{object:"error"}`. */
export function isChatErrorRecord(record: JsonObject): boolean {
  return (record.error != null && isReportedError(record.error)) || record.object === 'error'
}

function parseBody(body: unknown): ChatError {
  const error = parseErrorBody(body)
  return { ...error, logCode: error.code || error.type }
}

function classify(status: number, error: ChatError): ProviderErrorCode | undefined {
  if (isQuotaError(error)) return 'provider_quota_exceeded'
  if ((status === 404 || status === 400) && isUnknownModelError(error)) return 'model_not_found'
  if (status === 503 && error.code === 'slow_down') return 'provider_rate_limited'
  return undefined
}

/** True for used-up quotas, which retrying does not help. `code` decides; older providers use `type` only. */
function isQuotaError({ code, type, message }: ChatError): boolean {
  const name = code || type
  if (message === 'Insufficient Balance') return true
  return QUOTA_CODES.has(name) || name.endsWith('_spend_limit_exceeded')
}

const QUOTA_CODES = new Set([
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_usage_limit_exceeded',
])

/**
 * Mistral reports an unknown model in `type`, DeepSeek only in the message, both with status 400. Azure's
 * models are deployments.
 */
function isUnknownModelError({ code, type, message }: ChatError): boolean {
  return UNKNOWN_MODEL.has(code) || type === 'invalid_model' || message === 'Model Not Exist'
}

const UNKNOWN_MODEL = new Set(['model_not_found', 'DeploymentNotFound'])

function toDetails({ param: path, code }: ChatError): ProviderErrorDetails {
  const param = path && (findParam(path, RESPONSES_FIELDS) ?? toChatPath(path))
  // A numeric code only repeats the HTTP status.
  const hasWireCode = code !== '' && !/^\d+$/.test(code)
  return { ...(param && { param }), ...(hasWireCode && { wireCode: code }) }
}

/** Fields of the Responses API, and the texts to embed or to judge. */
const RESPONSES_FIELDS = new Map([
  ['input', 'messages'],
  ['instructions', 'messages'],
  ['max_output_tokens', 'max_tokens'],
  ['reasoning', 'reasoning_effort'],
  ['text', 'response_format'],
  ['text.verbosity', 'verbosity'],
])

/** Validators separate all steps of a path by dots, and add the types that they tried. */
function toChatPath(path: string): string {
  return path
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]')
    .replace(/^(messages\[\d+\])\.(?:user|assistant|system|tool)(?=\.|$)/, '$1')
    .replace(/^(\w+)\.(?:str|int|float|bool|list\[\w+\])(?=[.[]|$)/, '$1')
}

/** The time in the message, or that until all exhausted limits in `x-ratelimit-*` are reset. */
function retryAfter({ message }: ChatError, headers: ProviderErrorResponse['headers']): number | undefined {
  const said = toSeconds(RETRY_TIME.exec(message)?.[1] ?? '')
  if (said > 0) return Math.ceil(said)
  const resets = ['requests', 'tokens']
    .filter((limit) => Number(headers[`x-ratelimit-remaining-${limit}`] ?? 0) === 0)
    .map((limit) => toSeconds(String(headers[`x-ratelimit-reset-${limit}`] ?? '')))
  return Math.ceil(Math.max(...resets)) || undefined
}

/** Such as "Please try again in 6m0s" and "Please retry after 6 seconds". */
const RETRY_TIME = /\b(?:try again|retry) (?:in|after) (\d[\d.dhms ]{0,30})/i

const UNIT_SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1, ms: 0.001 }

/** The seconds of a duration such as `1h2m3.5s`, `20ms` or `6 s`; 0 for any other text. */
function toSeconds(duration: string): number {
  let seconds = 0
  for (const [, number, unit = ''] of duration.matchAll(/(\d+(?:\.\d+)?) ?(ms|[dhms])/g))
    seconds += Number(number) * (UNIT_SECONDS[unit] ?? 0)
  return seconds
}

function toStatus({ code, type }: ChatError): number {
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
  ['overloaded_error', 529],
])
