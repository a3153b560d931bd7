import { Metadata, type ServiceError, status } from '@grpc/grpc-js'

/** Errors of EventStoreDB 24.2: gRPC status, message, and the name that the trailers give, if any. */
const ERRORS = {
  'not-ready': { code: status.UNAVAILABLE, message: 'Server Is Not Ready' },
  'not-leader': { code: status.NOT_FOUND, message: 'Leader info available', exception: 'not-leader' },
  'access-denied': { code: status.PERMISSION_DENIED, message: 'Access Denied', exception: 'access-denied' },
  unauthenticated: { code: status.UNAUTHENTICATED, message: 'Bad gRPC response. HTTP status code: 401' },
  'maximum-append-size-exceeded': {
    code: status.INVALID_ARGUMENT,
    message: 'Maximum Append Size of 1048576 Exceeded.',
    exception: 'maximum-append-size-exceeded',
  },
  'stream-deleted': {
    code: status.FAILED_PRECONDITION,
    message: 'Event stream is deleted.',
    exception: 'stream-deleted',
  },
  'wrong-expected-version': {
    code: status.FAILED_PRECONDITION,
    message: 'Delete failed due to WrongExpectedVersion.',
    exception: 'wrong-expected-version',
  },
  'invalid-position': {
    code: status.INVALID_ARGUMENT,
    message: 'Trying to read from an invalid position.',
  },
  timeout: { code: status.ABORTED, message: 'Operation timed out: Prepare phase timeout.' },
} as const satisfies Record<string, { code: status; message: string; exception?: string }>

export type ServerError = keyof typeof ERRORS

/** Builds the protocol's representation of a server error. */
export function toServiceError(
  name: ServerError,
  details: Readonly<Record<string, string>> = {},
): Partial<ServiceError> {
  const { code, message, ...rest } = ERRORS[name]
  const metadata = new Metadata()
  if ('exception' in rest) metadata.set('exception', rest.exception)
  for (const [key, value] of Object.entries(details)) metadata.set(key, value)
  return Object.assign(new Error(message), { code, details: message, metadata })
}

export function streamDeletedError(stream: string): Partial<ServiceError> {
  const message = `Event stream '${stream}' is deleted.`
  return Object.assign(toServiceError('stream-deleted', { 'stream-name': stream }), { details: message })
}

/** Builds the protocol's representation of an error that a handler threw. */
export function toInternalError(error: unknown): Partial<ServiceError> {
  if (isServiceError(error)) return error
  return Object.assign(new Error(String(error)), { code: status.INTERNAL, details: String(error) })
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'metadata' in error
}
