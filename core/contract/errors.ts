import type { JsonObject } from './json.ts'

/**
 * Every error the gateway answers with: HTTP status, the `type` on the wire, and whether another target may be tried.
 * A message says what to do about it and never holds a secret or an internal detail.
 */
const TABLE = {
  malformed_request: { status: 400, type: 'invalid_request_error' },
  malformed_body: { status: 400, type: 'invalid_request_error' },
  invalid_value: { status: 400, type: 'invalid_request_error' },
  missing_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  // By a plugin, with a status of its own.
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
  // What providers do (docs/providers.md, "Errors and retries" and docs/routing.md, "Failover").
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
  /** In place of the code's own status. */
  readonly status?: number
  /** The request field at fault. */
  readonly param?: string
  /** The `code` on the wire where it is finer than ours, such as a provider's `context_length_exceeded`. */
  readonly wireCode?: string
  /** Facts for the caller's program, such as `{rule_id}`. */
  readonly meta?: JsonObject
  /** Faults by field, for validation answers. */
  readonly errors?: Readonly<Record<string, readonly string[]>>
  /** Whole seconds until another try makes sense. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

const GATEWAY_ERROR = Symbol.for('signalbox.GatewayError')

/** The error that every endpoint answers with. `message` is sent to the caller; `cause` is only logged. */
export class GatewayError extends Error {
  static {
    Object.defineProperty(GatewayError.prototype, GATEWAY_ERROR, { value: true })
  }

  /** Also true for errors of another copy of Signalbox in this process, such as one a plugin package installed. */
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

  /** True when another target may succeed where this one failed. */
  get mayFailOver(): boolean {
    return ERRORS[this.code].failover ?? false
  }
}

const API_KEY = /\btr_[0-9A-Za-z]{43}\b/g

/** Callers put keys where they do not belong, such as into a path, and messages say what was not found. */
export function redactApiKeys(text: string): string {
  return text.includes('tr_') ? text.replace(API_KEY, '[redacted]') : text
}
