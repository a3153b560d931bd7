import { type ErrorCode, type ErrorDetails, GatewayError } from '../../core/contract/errors.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'

/** What went wrong at a provider, in our own codes (docs/providers.md, "Errors and retries"). */
export type ProviderErrorCode = Extract<ErrorCode, `provider_${string}` | 'model_not_found'>

/** What the provider said about it, free of keys; its words are for the client, where it can act on them, and for nobody else. */
interface ProviderErrorText {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** What the provider's own format adds: the field at fault, a finer code, how long to wait. */
export interface ProviderErrorDetails {
  /** For refusals and unknown models. */
  readonly param?: string
  /** For refusals. */
  readonly wireCode?: string
  /** Whole seconds. */
  readonly retryAfter?: number | undefined
}

/**
 * The error for a provider's failure. Only a refusal passes the provider's own words on to the client; on other failures
 * they are about the operator's account. Words may quote the request, so the log gets status and code, as the `cause`.
 */
export function createProviderError(
  code: ProviderErrorCode,
  provider: string,
  said: ProviderErrorText,
  particulars: ProviderErrorDetails = {},
): GatewayError {
  const cause = new Error(`HTTP ${said.status}${/^[\w.-]{1,64}$/.test(said.code) ? ` ${said.code}` : ''}`)
  return new GatewayError(code, SENTENCES[code](provider, said), { ...detailsOf(code, particulars), cause })
}

function detailsOf(
  code: ProviderErrorCode,
  { param, wireCode, retryAfter }: ProviderErrorDetails,
): ErrorDetails {
  switch (code) {
    case 'model_not_found':
      return { param: param ?? 'model' }
    case 'provider_refused':
      return { ...(param !== undefined && { param }), ...(wireCode !== undefined && { wireCode }) }
    case 'provider_quota_exceeded':
      return { headers: { 'x-should-retry': 'false' } }
    case 'provider_rate_limited':
      return { retryAfter: retryAfter ?? 1 }
    default:
      return retryAfter === undefined ? {} : { retryAfter }
  }
}

const refused = (provider: string, { status, message }: ProviderErrorText) =>
  `${provider} refused the request: ${message || `HTTP status ${status}`}`

const SENTENCES: Readonly<Record<ProviderErrorCode, (provider: string, said: ProviderErrorText) => string>> =
  {
    model_not_found: refused,
    provider_refused: refused,
    provider_authentication_error: (provider) => `${provider} refused the gateway's credentials.`,
    provider_quota_exceeded: (provider) => `${provider} has no budget left for the gateway's account.`,
    provider_rate_limited: (provider) => `${provider} takes no more requests for now.`,
    provider_timeout: (provider) => `${provider} did not answer in time.`,
    provider_unreachable: (provider) => `The connection to ${provider} failed.`,
    provider_error: (provider) => `${provider} reports a failure of its own.`,
  }

/** Whole seconds, at least 1, from `retry-after-ms` or `retry-after` (seconds or a date); undefined without either. */
export function parseRetryAfter(
  headers: ProviderErrorResponse['headers'],
  now = Date.now(),
): number | undefined {
  const milliseconds = readNumber(headers['retry-after-ms']) ?? readDelay(headers['retry-after'], now)
  return milliseconds === undefined ? undefined : Math.max(1, Math.ceil(milliseconds / 1000))
}

type Header = string | string[] | undefined

function readDelay(header: Header, now: number): number | undefined {
  const seconds = readNumber(header)
  if (seconds !== undefined) return seconds * 1000
  const date = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : date - now
}

function readNumber(header: Header): number | undefined {
  return typeof header === 'string' && /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : undefined
}

const KEY = /\bsk-[\w*.-]{4,}|\bBearer\s+[\w.~+/=*-]{6,}|\bAIza[\w-]{10,}/gi

/** Providers echo parts of a key when they refuse it: blots out whatever looks like one. */
export function redactKeys(text: string): string {
  return text.replace(KEY, '[redacted]')
}
