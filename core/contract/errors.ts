import type { JsonObject } from './json.ts'

/**
 * Every error code of the gateway, with its HTTP status and its `type` on the wire. `failover`: another
 * target may be tried. Messages say what to do and never contain secrets or internal details.
 */
const TABLE = {
  malformed_request: { status: 400, type: 'invalid_request_error' },
  malformed_body: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  missing_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  // Thrown by plugins, with their own status.
  refused: { status: 400, type: 'invalid_request_error' },
  invalid_rule: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  plan_required: { status: 403, type: 'authorization_error' },
  firewall_blocked: { status: 403, type: 'firewall_error' },
  not_found: { status: 404, type: 'not_found_error' },
  model_not_found: { status: 404, type: 'invalid_request_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  request_timeout: { status: 408, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'conflict_error' },
  revision_mismatch: { status: 412, type: 'conflict_error' },
  body_too_large: { status: 413, type: 'invalid_request_error' },
  validation_failed: { status: 422, type: 'validation_error' },
  headers_too_large: { status: 431, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  rate_limit_unavailable: { status: 503, type: 'service_unavailable_error' },
  internal_error: { status: 500, type: 'api_error' },
  no_providers_available: { status: 503, type: 'service_unavailable_error' },
  shutting_down: { status: 503, type: 'service_unavailable_error' },
  event_log_unavailable: { status: 503, type: 'service_unavailable_error' },
  event_log_full: { status: 507, type: 'service_unavailable_error' },
  // Provider errors: see docs/providers.md, "Errors and retries", and docs/routing.md, "Failover".
  provider_refused: { status: 400, type: 'invalid_request_error' },
  provider_authentication_error: { status: 502, type: 'api_error' },
  provider_quota_exceeded: { status: 429, type: 'rate_limit_error', failover: true },
  provider_rate_limited: { status: 429, type: 'rate_limit_error', failover: true },
  provider_error: { status: 502, type: 'api_error', failover: true },
  provider_unreachable: { status: 502, type: 'api_error', failover: true },
  model_unavailable: { status: 503, type: 'service_unavailable_error', failover: true },
  provider_timeout: { status: 504, type: 'api_error', failover: true },
} as const

export type ErrorCode = keyof typeof TABLE

interface ErrorRow {
  readonly status: number
  readonly type: string
  readonly failover?: boolean
}

const ERRORS: Readonly<Record<ErrorCode, ErrorRow>> = TABLE

export interface ErrorDetails {
  /** HTTP status; that of the error code if undefined. */
  readonly status?: number
  /** Path of the invalid request field, such as `messages[0].role`. */
  readonly param?: string
  /** A more specific `code` for the response body, such as a provider's `context_length_exceeded`. */
  readonly wireCode?: string
  /** Machine-readable details, such as `{rule_id}`. */
  readonly meta?: JsonObject
  /** Validation issues by field. */
  readonly errors?: Readonly<Record<string, readonly string[]>>
  /** Whole seconds to wait before a retry. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

const GATEWAY_ERROR = Symbol.for('signalbox.GatewayError')

/** The error of every endpoint. `message` is sent to the caller, without API keys; `cause` is only logged. */
export class GatewayError extends Error {
  static {
    Object.defineProperty(GatewayError.prototype, GATEWAY_ERROR, { value: true })
  }

  /** Also true for errors of another copy of Signalbox in this process, such as a plugin's dependency. */
  static isInstance(error: unknown): error is GatewayError {
    return error instanceof Error && GATEWAY_ERROR in error
  }

  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(redactApiKeys(message), { cause: details.cause })
    this.name = 'GatewayError'
    this.code = code
    this.details = details
  }

  get status(): number {
    return this.details.status ?? ERRORS[this.code].status
  }

  get type(): string {
    return ERRORS[this.code].type
  }

  get wireCode(): string {
    return this.details.wireCode ?? this.code
  }

  /** True if another target may be tried. */
  get mayFailOver(): boolean {
    return ERRORS[this.code].failover ?? false
  }
}

const API_KEY = /\btr_[0-9A-Za-z]{43}\b/g

/**
 * Replaces API keys of the gateway by `[redacted]`. Callers put keys in the wrong place, such as a path, and
 * messages quote their input.
 */
export function redactApiKeys(text: string): string {
  return text.includes('tr_') ? text.replace(API_KEY, '[redacted]') : text
}
