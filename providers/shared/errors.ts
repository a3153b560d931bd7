import type { ErrorCode } from '../../core/contract/error-codes.ts'
import { type ErrorDetails, GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { parseJson } from '../../core/util/json.ts'
import { parseErrorBody } from './error-body.ts'
import { findRefusal, type Refusal, readContextLengths } from './refusals.ts'

/** The gateway's codes for errors of a provider (docs/providers.md, "Errors and retries"). */
export type ProviderErrorCode = Extract<
  ErrorCode,
  `provider_${string}` | 'model_not_found' | 'context_length_exceeded'
>

type Headers = ProviderErrorResponse['headers']

/** An error as a provider describes it; formats add their own fields. */
export interface ProviderErrorBody {
  readonly message: string
  /** The provider's code, or its most specific type, for the log; empty if there is none. */
  readonly logCode: string
}

/** What the error for the client holds besides its message. */
export interface ProviderErrorDetails {
  /** The request field that the error is about, for rejected requests and unknown models. */
  readonly param?: string
  /** The code for the client, for rejected requests. */
  readonly wireCode?: string
}

/** What differs between the error formats of providers. */
interface ErrorFormat<Body extends ProviderErrorBody> {
  /** Parses the body of an error response, or an error record of a stream. Accepts any value. */
  parseBody(body: unknown): Body
  /** Decides the cases in which the HTTP status is not enough. Returns undefined for all others. */
  classify(status: number, error: Body): ProviderErrorCode | undefined
  toDetails(error: Body, code: ProviderErrorCode): ProviderErrorDetails
  /** The HTTP status that an error within a 200 response would have had. */
  toStatus(error: Body): number
  /** Whole seconds to wait, for errors without a `retry-after` header. */
  retryAfter?(error: Body, headers: Headers): number | undefined
}

interface ErrorParser {
  /** Parses an error response. */
  parseResponse(response: ProviderErrorResponse): GatewayError
  /** Parses an error that arrived within a 200 response. */
  parseRecord(record: JsonObject): GatewayError
}

export function createErrorParser<Body extends ProviderErrorBody>(format: ErrorFormat<Body>): ErrorParser {
  function toError(provider: string, error: Body, status: number, headers: Headers): GatewayError {
    const classified = format.classify(status, error) ?? classifyStatus(status)
    const refusal = findRefusal(classified, status, error)
    const code = refusal === 'context_length_exceeded' ? refusal : classified
    const retryAfter = parseRetryAfter(headers) ?? format.retryAfter?.(error, headers)
    // Messages may quote the request, so the log gets only the status and the code, as the `cause`. See
    // docs/decisions/replies.md, "Provider messages stay out of the log".
    const logCode = /^[\w.-]{1,64}$/.test(error.logCode) ? ` ${error.logCode}` : ''
    const cause = new Error(`HTTP ${status}${logCode}`)
    const details = toErrorDetails(code, format.toDetails(error, code), retryAfter, refusal, error.message)
    return new GatewayError(code, MESSAGES[code](provider, error.message, status, details.retryAfter), {
      ...details,
      cause,
    })
  }

  function parseBody(body: unknown): Body {
    const error = format.parseBody(body)
    return { ...error, message: redactKeys(error.message).slice(0, MAX_MESSAGE_CHARS) }
  }

  return {
    parseResponse({ provider, status, headers, body }) {
      const parsed = parseJson(body)
      const error = toError(provider, parseBody(parsed), status, headers)
      return isProxyTimeout(status, parsed) ? error.withExecuted('maybe') : error
    },
    parseRecord(record) {
      const error = parseBody(record)
      return toError('The provider', error, format.toStatus(error), {})
    },
  }
}

/** The error of a provider that has answered with success, but with nothing that can be read. */
export function unusableReplyError(message: string): GatewayError {
  return new GatewayError('provider_error', message, { executed: 'yes' })
}

/** The error for a stream record that is not a JSON object. */
export function malformedRecordError(): GatewayError {
  return unusableReplyError('The provider sent a malformed stream record.')
}

/** The error for a reply without a finish reason or end marker. */
export function incompleteReplyError(): GatewayError {
  return unusableReplyError("The provider's reply ended before it was complete.")
}

/** Some providers repeat the rejected input in their message. */
const MAX_MESSAGE_CHARS = 2000

function classifyStatus(status: number): ProviderErrorCode {
  switch (status) {
    case 401:
    case 403:
      return 'provider_authentication_error'
    case 402:
      return 'provider_quota_exceeded'
    case 408:
    case 504:
    case 524:
      return 'provider_timeout'
    case 429:
      return 'provider_rate_limited'
    case 503:
    case 529:
      return 'provider_overloaded'
    // The client of a proxy or of the provider left, which was not the gateway: a retry may succeed.
    case 499:
      return 'provider_error'
    default:
      return status >= 400 && status < 500 ? 'provider_refused' : 'provider_error'
  }
}

/**
 * Whether a proxy in front of the provider gave up waiting, so that the provider may still be working.
 * Proxies answer with a page or a text; 524 is Cloudflare's own.
 */
function isProxyTimeout(status: number, body: unknown): boolean {
  return status === 524 || (status === 504 && typeof body !== 'object')
}

const NO_RETRY = { 'x-should-retry': 'false' }

function toErrorDetails(
  code: ProviderErrorCode,
  { param, wireCode }: ProviderErrorDetails,
  retryAfter: number | undefined,
  refusal: Refusal | undefined,
  message: string,
): ErrorDetails {
  switch (code) {
    case 'model_not_found':
      return { param: param ?? 'model' }
    case 'context_length_exceeded': {
      const contextLengths = readContextLengths(message)
      return { param: 'messages', ...(contextLengths && { contextLengths }) }
    }
    case 'provider_refused':
      return {
        ...(param !== undefined && { param }),
        ...((refusal ?? wireCode) && { wireCode: refusal ?? wireCode }),
        ...(refusal === 'request_too_large' && { status: 413 }),
      }
    case 'provider_quota_exceeded':
      return { headers: NO_RETRY }
    case 'provider_rate_limited':
      return retryAfter === undefined ? { retryAfter: 1, headers: NO_RETRY } : { retryAfter }
    default:
      return retryAfter === undefined ? {} : { retryAfter }
  }
}

type BuildMessage = (provider: string, message: string, status: number, retryAfter?: number) => string

const buildRejection: BuildMessage = (provider, message, status) =>
  `${provider} rejected the request: ${message || `HTTP status ${status}`}`

/**
 * Messages for the client. Only rejections pass on the provider's own message: the client can act on these,
 * while other messages are about the operator's account.
 */
const MESSAGES: Readonly<Record<ProviderErrorCode, BuildMessage>> = {
  model_not_found: buildRejection,
  provider_refused: buildRejection,
  context_length_exceeded: buildRejection,
  provider_authentication_error: (provider) =>
    `${provider} rejected the gateway's credentials. Ask the gateway's operator to check the API key.`,
  provider_quota_exceeded: (provider) =>
    `The gateway's account at ${provider} has no quota left. Choose a model of another provider.`,
  // Codex reads the seconds from the message of a failed response.
  provider_rate_limited: (provider, _message, _status, retryAfter) =>
    `${provider} is rate limiting the gateway. Please try again in ${retryAfter}s.`,
  provider_overloaded: (provider) => `${provider} is overloaded or unavailable. Retry later.`,
  provider_timeout: (provider) => `${provider} did not respond in time.`,
  provider_unreachable: (provider) => `The connection to ${provider} failed.`,
  provider_error: (provider) => `${provider} returned a server error.`,
}

/** Whole seconds, at least 1, from `retry-after-ms` or `retry-after` (seconds or a date), if there is one. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const ms = parseDecimal(headers['retry-after-ms']) ?? parseDelayMs(headers['retry-after'])
  return ms === undefined ? undefined : Math.max(1, Math.ceil(ms / 1000))
}

function parseDelayMs(header: Headers[string]): number | undefined {
  const seconds = parseDecimal(header)
  if (seconds !== undefined) return seconds * 1000
  const date = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : date - Date.now()
}

function parseDecimal(header: Headers[string]): number | undefined {
  return typeof header === 'string' && /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : undefined
}

const KEY = /\bsk-[\w*.-]{4,}|\bBearer\s+[\w.~+/=*-]{6,}|\bAIza[\w-]{10,}|\beyJ[\w-]{10,}\.[\w-]+\.[\w-]+/gi

/** Redacts whatever looks like an API key: providers repeat parts of a key that they reject. */
function redactKeys(text: string): string {
  return text.replace(KEY, '[redacted]')
}

/** Parses an error response by its status, for adapters without an error format of their own. */
export const { parseResponse: parseErrorByStatus } = createErrorParser({
  parseBody(body) {
    const error = parseErrorBody(body)
    return { ...error, logCode: error.code || error.type }
  },
  classify: () => undefined,
  toDetails: () => ({}),
  toStatus: () => 500,
})
