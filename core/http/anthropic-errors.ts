import { type ErrorStyle, GatewayError } from '../contract/index.ts'

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Returns the `type` of an error in Anthropic's format. */
export function toAnthropicErrorType(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** The status with which Anthropic says that no model is available at the moment. */
const OVERLOADED = 529

const OVERLOADED_CODES: ReadonlySet<string> = new Set(['no_providers_available', 'model_unavailable'])

/** Returns the HTTP status of an error code for an endpoint; `status` is that for other endpoints. */
export function statusInStyle(code: string, status: number, style: ErrorStyle | undefined): number {
  return style === 'anthropic' && OVERLOADED_CODES.has(code) ? OVERLOADED : status
}

/**
 * Returns an error as clients of an endpoint get it. `isConverted`: the request was converted before it
 * failed, so paths to its messages are not those of the caller.
 */
export function toErrorInStyle(error: unknown, style: ErrorStyle, isConverted: boolean): unknown {
  if (style !== 'anthropic' || !GatewayError.isInstance(error)) return error
  const { code, type, message, details } = error
  const { param, ...others } = details
  const status = statusInStyle(code, error.status, style)
  const isForeign = isConverted && param?.startsWith('messages[') === true
  if (status === error.status && !isForeign) return error
  return new GatewayError({ ...others, ...(param && !isForeign && { param }), code, type, message, status })
}
