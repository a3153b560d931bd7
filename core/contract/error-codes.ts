/** An error code, with the HTTP status and the `type` of its errors. */
export interface ErrorDefinition {
  readonly status: number
  /** `type` on the wire. */
  readonly type: string
  /** When the error occurs, as one sentence, for the documentation. */
  readonly description: string
  /** Another target may be tried. */
  readonly failover?: true
  /** The request was refused because a guard or a limit could not be checked. */
  readonly failsClosed?: true
  /** Endpoints that may return it, besides those that name it. Default: none. */
  readonly of?: 'inference' | 'users'
}

function define(status: number, type: string, description: string): ErrorDefinition {
  return { status, type, description }
}

const invalid = (status: number, description: string) => define(status, 'invalid_request_error', description)
const failed = (status: number, description: string) => define(status, 'api_error', description)
const unavailable = (status: number, description: string) =>
  define(status, 'service_unavailable_error', description)

/** The error codes of the gateway itself. Plugins can add codes (`PluginParts.errorCodes`). */
export const ERROR_CODES = {
  malformed_request: invalid(400, 'The request is not valid HTTP.'),
  malformed_body: invalid(400, 'The body is not a JSON object.'),
  invalid_value: invalid(400, 'A field, parameter or header is unknown or invalid.'),
  missing_parameter: invalid(400, 'A required field or parameter is missing.'),
  unsupported_parameter: invalid(400, 'The gateway or the model does not support a parameter.'),
  thread_unsupported_request: invalid(
    400,
    'Threads of messages are not supported; clients send the whole conversation then.',
  ),
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
  session_ended: define(401, 'authentication_error', 'The session of the console has ended.'),
  endpoint_not_allowed: define(
    403,
    'authorization_error',
    'The key, or the scope of the operator, does not include the endpoint.',
  ),
  model_not_allowed: define(403, 'authorization_error', 'The key is restricted to other models.'),
  plan_required: define(403, 'authorization_error', "The caller's plan does not include the endpoint."),
  role_required: define(403, 'authorization_error', "The operator's role does not include the endpoint."),
  scope_exceeded: define(
    403,
    'authorization_error',
    'The change reaches beyond the groups in the scope of the operator.',
  ),
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
  headers_too_large: invalid(431, 'The headers are too large or too many.'),
  rate_limit_exceeded: define(
    429,
    'rate_limit_error',
    'Too many requests, or too many invalid keys from this address.',
  ),
  internal_error: failed(500, 'The gateway failed. Report it with the x-request-id.'),
  no_providers_available: unavailable(503, 'No available provider can serve the request.'),
  memory_limit_reached: unavailable(
    503,
    'The bodies of requests in flight, of the user or of all, take as much memory as the gateway allows.',
  ),
  no_worker: unavailable(503, 'All worker processes ended unexpectedly, and are being started again.'),
  shutting_down: unavailable(503, 'The gateway ended before the request was complete.'),
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
  rules_damaged: {
    ...unavailable(
      503,
      'A stream of the event log that the request depends on cannot be read completely, so it is refused.',
    ),
    failsClosed: true,
  },
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
  context_length_exceeded: invalid(400, 'The request is longer than the context of the model.'),
  // Provider errors: see docs/providers.md, "Errors and retries", and docs/guides/failover.md, "Failover".
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
  provider_overloaded: {
    ...unavailable(503, 'The provider is overloaded or unavailable at the moment.'),
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

type ErrorDefinitions = Readonly<Record<string, ErrorDefinition>>

const DECLARED = Symbol.for('signalbox.errorCodes')

/**
 * The codes of each gateway in this process. Shared with other copies of Signalbox, such as one that a plugin
 * has bundled.
 */
const declared: Set<ErrorDefinitions> = Reflect.get(globalThis, DECLARED) ?? new Set()
Reflect.set(globalThis, DECLARED, declared)

/**
 * Makes codes of plugins known to `GatewayError`. Called once the plugins are set up. Returns a function that
 * takes them back. If several gateways in a process define a code, the definition of the newest one counts.
 */
export function declareErrorCodes(codes: ErrorDefinitions): () => void {
  const own = { ...codes }
  declared.add(own)
  return () => void declared.delete(own)
}

/** The definition of a code of the gateway, or of one that a plugin has declared. */
export function findErrorDefinition(code: string): ErrorDefinition | undefined {
  if (Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code as ErrorCode]
  return [...declared].findLast((codes) => Object.hasOwn(codes, code))?.[code]
}
