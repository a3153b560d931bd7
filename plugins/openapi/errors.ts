import {
  type ApiDescription,
  type EndpointDescription,
  type ErrorCode,
  type ErrorDefinition,
  isOptional,
} from '../../core/contract/index.ts'
import { statusInStyle } from '../../core/http/error-words.ts'

/** Errors of every endpoint. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  'malformed_request',
  'invalid_value',
  'method_not_allowed',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
  'internal_error',
]

const BODY_ERRORS: readonly ErrorCode[] = ['malformed_body', 'body_too_large', 'unsupported_media_type']

const ACCESS_ERRORS: Readonly<Record<EndpointDescription['access']['type'], readonly ErrorCode[]>> = {
  public: [],
  user: ['invalid_api_key', 'rate_limit_exceeded'],
  operator: ['invalid_api_key', 'role_required', 'endpoint_not_allowed', 'rate_limit_exceeded'],
}

/** The errors of one status. */
export type ErrorsByCode = Readonly<Record<string, ErrorDefinition>>

/** Returns the errors of an endpoint by status: the declared ones, and those that follow from the rest. */
export function errorsByStatus(
  endpoint: EndpointDescription,
  { errorCodes }: ApiDescription,
): ReadonlyMap<number, ErrorsByCode> {
  const codes = new Set<string>([
    ...COMMON_ERRORS,
    ...ACCESS_ERRORS[endpoint.access.type],
    ...(endpoint.access.type === 'user' ? ofUsers(errorCodes) : []),
    ...(endpoint.access.type === 'user' && endpoint.access.plan !== undefined ? ['plan_required'] : []),
    ...(endpoint.access.type === 'operator' && isChange(endpoint) ? ['reason_required'] : []),
    ...(endpoint.params === undefined ? [] : ['not_found']),
    ...(endpoint.body === undefined ? [] : BODY_ERRORS),
    ...(hasRequiredFields(endpoint) ? ['missing_parameter'] : []),
    ...(endpoint.errors ?? []),
  ])
  const byStatus = new Map<number, Record<string, ErrorDefinition>>()
  for (const code of codes) {
    const definition = errorCodes[code]
    if (definition === undefined) continue
    const status = statusInStyle(code, definition.status, endpoint.errorStyle)
    byStatus.set(status, { ...byStatus.get(status), [code]: definition })
  }
  return byStatus
}

/** Whether the endpoint appends changes of its caller to the event log, as its errors tell. */
export function isChange({ method, errors = [], access }: EndpointDescription): boolean {
  return method !== 'GET' && access.type !== 'public' && errors.includes('change_too_large')
}

function ofUsers(errorCodes: ErrorsByCode): readonly string[] {
  return Object.keys(errorCodes).filter((code) => errorCodes[code]?.of === 'users')
}

function hasRequiredFields({ query = {}, body }: EndpointDescription): boolean {
  return Object.values(query).some((schema) => !isOptional(schema)) || body?.required !== undefined
}
