import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { findParam, isReportedError, parseErrorBody } from '../shared/error-body.ts'
import {
  createErrorParser,
  type ProviderErrorBody,
  type ProviderErrorCode,
  type ProviderErrorDetails,
} from '../shared/errors.ts'
import { asObject, asString } from '../shared/fields.ts'

interface AnthropicError extends ProviderErrorBody {
  readonly type: string
  /** `details.error_code`, which is more specific than the type; empty for most errors. */
  readonly code: string
}

/**
 * `parseResponse` parses an error response, `parseRecord` an `error` event within a 200 response
 * (docs/providers.md, "Anthropic").
 */
export const { parseResponse: parseAnthropicError, parseRecord: parseAnthropicErrorRecord } =
  createErrorParser<AnthropicError>({
    parseBody,
    classify,
    toDetails,
    toStatus,
    retryAfter,
  })

/** True for a record that reports an error. Proxies in front leave out its type. */
export function isAnthropicErrorRecord({ type, error }: JsonObject): boolean {
  return type === 'error' || (type === undefined && error != null && isReportedError(error))
}

/** Parses `{type:"error", error:{type, message, details?}}`, and what a proxy in front may send instead. */
function parseBody(value: unknown): AnthropicError {
  const body = asObject(value)
  const { type, message } = parseErrorBody(body)
  const code = asString(asObject(asObject(body.error).details).error_code)
  return { type, code, message, logCode: code || type }
}

function classify(status: number, { type, code, message }: AnthropicError): ProviderErrorCode | undefined {
  if (SPEND_LIMIT_CODE.test(code) || (status === 400 && NO_CREDIT.test(message))) {
    return 'provider_quota_exceeded'
  }
  if (status === 404 && type === 'not_found_error' && /^model\b/.test(message)) return 'model_not_found'
  return undefined
}

/** Messages about a field begin with its path: `messages.0.content: Input should be a valid list`. */
function toDetails({ message }: AnthropicError): ProviderErrorDetails {
  const [, path = ''] = /^([a-z_]+(?:\.\w+)*): /.exec(message) ?? []
  const param = findParam(path, FIELDS)
  return param === undefined ? {} : { param }
}

const FIELDS = new Map([
  ...['model', 'messages', 'max_tokens', 'temperature', 'top_p', 'top_k', 'tools', 'tool_choice'].map(
    (name) => [name, name] as const,
  ),
  ['system', 'messages'],
  ['stop_sequences', 'stop'],
  ['metadata', 'user'],
  ['thinking', 'reasoning_effort'],
  ['output_config.effort', 'reasoning_effort'],
  ['output_config.format', 'response_format'],
])

/** Such as `enforced_spend_limit_reached`. */
const SPEND_LIMIT_CODE = /_spend_limit_reached$/

/** An empty account is reported as an ordinary bad request, so only the message identifies it. */
const NO_CREDIT = /credit balance is too low|spend limit|reached your specified API usage limits/i

/**
 * The seconds until all exhausted limits in `anthropic-ratelimit-*` are reset, at least 1; undefined if none
 * is exhausted.
 */
function retryAfter(_: AnthropicError, headers: ProviderErrorResponse['headers']): number | undefined {
  const resetTimes = LIMITS.map((limit) => `anthropic-ratelimit-${limit}`)
    .filter((name) => headers[`${name}-remaining`] === '0')
    .map((name) => Date.parse(String(headers[`${name}-reset`])))
    .filter((time) => !Number.isNaN(time))
  if (resetTimes.length === 0) return undefined
  return Math.max(1, Math.ceil((Math.max(...resetTimes) - Date.now()) / 1000))
}

const LIMITS = ['requests', 'tokens', 'input-tokens', 'output-tokens']

function toStatus({ type }: AnthropicError): number {
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
