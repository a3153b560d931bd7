import type { JsonObject } from './json.ts'

/** An error code, with the HTTP status and the `type` of its errors. */
export interface ErrorDefinition {
  readonly status: number
  /** `type` on the wire. */
  readonly type: string
  /** When the error occurs, as one sentence, for the documentation. */
  readonly description: string
  /** Another target may be tried. */
  readonly failover?: true
}

function define(status: number, type: string, description: string): ErrorDefinition {
  return { status, type, description }
}

const invalid = (status: number, description: string) => define(status, 'invalid_request_error', description)
const failed = (status: number, description: string) => define(status, 'api_error', description)
const unavailable = (status: number, description: string) =>
  define(status, 'service_unavailable_error', description)

/** Every error code of the gateway itself. Plugins can add codes (`PluginParts.errorCodes`). */
export const ERROR_CODES = {
  malformed_request: invalid(400, 'The request is not valid HTTP.'),
  malformed_body: invalid(400, 'The body is not a JSON object.'),
  invalid_value: invalid(400, 'A field, parameter or header is unknown or invalid.'),
  missing_parameter: invalid(400, 'A required field or parameter is missing.'),
  unsupported_parameter: invalid(400, 'The gateway or the model does not support a parameter.'),
  refused: invalid(400, 'A plugin refused the request, with a status of its own.'),
  invalid_rule: invalid(
    400,
    'A required field of a rule is missing, or a field of a firewall rule is invalid.',
  ),
  reason_required: invalid(
    400,
    'The gateway requires a reason for changes by operators, in the header x-change-reason.',
  ),
  invalid_api_key: define(401, 'authentication_error', 'The key is missing, unknown or revoked.'),
  key_expired: define(401, 'authentication_error', 'The key has expired.'),
  endpoint_not_allowed: define(403, 'authorization_error', 'The key is restricted to other endpoints.'),
  model_not_allowed: define(403, 'authorization_error', 'The key is restricted to other models.'),
  plan_required: define(403, 'authorization_error', "The caller's plan does not include the endpoint."),
  role_required: define(403, 'authorization_error', "The operator's role does not include the endpoint."),
  origin_not_allowed: define(
    403,
    'authorization_error',
    'A page of another origin, which is not one of cors.origins, opens a WebSocket.',
  ),
  csrf_token_invalid: define(
    403,
    'authorization_error',
    'A change with a session of the console does not have the token of the session.',
  ),
  budget_exceeded: define(402, 'budget_error', 'A budget does not cover what the request may cost.'),
  budget_price_unknown: define(402, 'budget_error', 'A budget applies, and the model has no known price.'),
  budget_reserved: define(429, 'rate_limit_error', 'Requests in flight have reserved the rest of a budget.'),
  budget_unavailable: unavailable(503, 'What was spent cannot be checked at the moment.'),
  firewall_blocked: define(403, 'firewall_error', 'A firewall rule blocked the request.'),
  firewall_timeout: define(
    403,
    'firewall_error',
    'A blocking or masking firewall rule did not finish, or was not compiled, within its limits.',
  ),
  not_found: define(
    404,
    'not_found_error',
    'The path or the object does not exist, or belongs to another user.',
  ),
  model_not_found: invalid(404, 'The model is not known.'),
  method_not_allowed: invalid(405, 'The path exists with the methods listed in the header allow.'),
  request_timeout: invalid(408, 'The request was not received completely in time.'),
  conflict: define(
    409,
    'conflict_error',
    'The state of the object does not allow the request, or too many changes happen at once.',
  ),
  idempotency_key_reused: define(
    422,
    'conflict_error',
    'The Idempotency-Key was used for another request within the last 24 hours.',
  ),
  revision_mismatch: define(412, 'conflict_error', 'If-Match names a revision that is not current.'),
  body_too_large: invalid(413, 'The body is larger than the limit of the gateway.'),
  change_too_large: invalid(
    413,
    'The events of a change are larger than the event log accepts; the message says how large both are.',
  ),
  unsupported_media_type: invalid(
    415,
    'The Content-Encoding of the body is not supported, or on /route its Content-Type.',
  ),
  expectation_failed: invalid(417, 'The header expect has a value other than 100-continue.'),
  validation_error: define(
    422,
    'validation_error',
    'Fields of a routing rule, or of rules as a file, are invalid; all of them are listed under errors.',
  ),
  upgrade_required: invalid(426, 'The path is for WebSocket connections with this method.'),
  headers_too_large: invalid(431, 'The headers are too large or too many.'),
  rate_limit_exceeded: define(
    429,
    'rate_limit_error',
    'Too many requests, or too many invalid keys from this address.',
  ),
  token_limit_exceeded: define(
    429,
    'rate_limit_error',
    'The request may use more tokens than its user has left in this minute.',
  ),
  concurrency_limit_exceeded: define(
    429,
    'rate_limit_error',
    'The user has as many inference requests in flight as allowed.',
  ),
  rate_limit_unavailable: unavailable(503, 'Requests cannot be counted at the moment.'),
  internal_error: failed(500, 'The gateway failed. Report it with the x-request-id.'),
  no_providers_available: unavailable(503, 'No available provider can serve the request.'),
  event_log_unavailable: unavailable(
    503,
    'The event log is unavailable; the message says whether anything was changed.',
  ),
  event_log_replaced: unavailable(
    503,
    'The event log was wiped, restored or exchanged; the gateway is about to end and must be started again.',
  ),
  event_log_access_denied: unavailable(
    503,
    "The event log rejects the gateway's credentials, or its user lacks a permission; the operator must act.",
  ),
  rules_damaged: unavailable(
    503,
    "A stream of the user in the event log cannot be read completely, so the user's requests are refused.",
  ),
  event_log_changed: unavailable(
    503,
    'An event of the log is not the one that was hashed, so it cannot be proven.',
  ),
  event_log_damaged: unavailable(
    503,
    'The file of the event log is damaged, so changes are refused; the operator must restore it.',
  ),
  audit_busy: define(
    429,
    'rate_limit_error',
    'Too many searches of the audit trail, or reads of past rules and changes, are waiting.',
  ),
  history_unavailable: unavailable(
    503,
    'Past rules or changes could not be read within the limits of time and memory.',
  ),
  event_log_full: unavailable(507, 'The event log has no disk space left.'),
  // Provider errors: see docs/providers.md, "Errors and retries", and docs/routing.md, "Failover".
  provider_refused: invalid(400, 'The provider refused the request.'),
  provider_authentication_error: failed(502, 'The provider refused the key of the gateway.'),
  provider_quota_exceeded: {
    ...define(429, 'rate_limit_error', "The gateway's quota at the provider is used up."),
    failover: true,
  },
  provider_rate_limited: {
    ...define(429, 'rate_limit_error', 'The provider limits the rate of requests.'),
    failover: true,
  },
  provider_error: { ...failed(502, 'The provider failed.'), failover: true },
  provider_unreachable: { ...failed(502, 'The provider could not be reached.'), failover: true },
  model_unavailable: {
    ...unavailable(503, 'The model has been failing and is temporarily unavailable.'),
    failover: true,
  },
  provider_timeout: { ...failed(504, 'The provider did not respond in time.'), failover: true },
} satisfies Readonly<Record<string, ErrorDefinition>>

export type ErrorCode = keyof typeof ERROR_CODES

/** An error with a code that a plugin declares in `errorCodes`. */
export interface CustomError extends ErrorDetails {
  readonly code: string
  readonly status: number
  /** `type` on the wire; default `invalid_request_error`. */
  readonly type?: string
  readonly message: string
}

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

  /** An `ErrorCode`, or a code of a plugin. */
  readonly code: string
  readonly status: number
  readonly type: string
  readonly details: ErrorDetails

  constructor(error: CustomError)
  constructor(code: ErrorCode, message: string, details?: ErrorDetails)
  constructor(error: CustomError | ErrorCode, message = '', details: ErrorDetails = {}) {
    const custom = typeof error === 'string' ? toCustomError(error, message, details) : error
    const { code, status, type = 'invalid_request_error', message: text, ...rest } = custom
    if (!(status >= 400 && status <= 599))
      throw new TypeError(`${status} is not the status of an error. Pass one from 400 to 599.`)
    super(redactApiKeys(text), { cause: rest.cause })
    this.name = 'GatewayError'
    this.code = code
    this.status = status
    this.type = type
    this.details = rest
  }

  /** Returns the same error with another message. */
  withMessage(message: string): GatewayError {
    const { code, status, type, details } = this
    return new GatewayError({ ...details, code, status, type, message })
  }

  /** Returns the same error with another path of its request field, also where the message has the path. */
  withParam(param: string): GatewayError {
    const { code, status, type, message, details } = this
    const { param: former = '' } = details
    // Plain words, such as "messages", may be prose.
    const text = /[^a-z]/.test(former) ? message.replaceAll(former, () => param) : message
    return new GatewayError({ ...details, param, code, status, type, message: text })
  }

  /** Returns the same error with another response header. */
  withHeader(name: string, value: string): GatewayError {
    const { code, status, type, message, details } = this
    const headers = { ...details.headers, [name]: value }
    return new GatewayError({ ...details, headers, code, status, type, message })
  }

  get wireCode(): string {
    return this.details.wireCode ?? this.code
  }

  /** True if another target may be tried. */
  get mayFailOver(): boolean {
    return builtInCode(this.code)?.failover ?? false
  }
}

function builtInCode(code: string): ErrorDefinition | undefined {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode] : undefined
}

function toCustomError(code: string, message: string, details: ErrorDetails): CustomError {
  const definition = builtInCode(code)
  if (definition !== undefined) {
    const { status, type } = definition
    return { ...details, code, status: details.status ?? status, type, message }
  }
  throw new TypeError(
    `"${code}" is not an error code of the gateway. ` +
      'For a code of your own, pass { code, status, type, message } and declare it in errorCodes.',
  )
}

const API_KEY = /\b(?:tr|op)_[0-9A-Za-z]{43}\b/g

/**
 * Replaces API keys of the gateway by `[redacted]`. Callers put keys in the wrong place, such as a path, and
 * messages quote their input.
 */
export function redactApiKeys(text: string): string {
  return text.includes('tr_') || text.includes('op_') ? text.replace(API_KEY, '[redacted]') : text
}
