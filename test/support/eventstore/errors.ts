import { Metadata, type ServiceError, status } from '@grpc/grpc-js'

/** Errors that EventStoreDB names in the trailers of a failed call, with their gRPC status codes. */
const CODES = {
  'not-ready': status.UNAVAILABLE,
  'access-denied': status.PERMISSION_DENIED,
  'not-leader': status.NOT_FOUND,
  'maximum-append-size-exceeded': status.INVALID_ARGUMENT,
} as const

export type ServerError = keyof typeof CODES

/** Builds the protocol's representation of a server error. */
export function toServiceError(
  name: ServerError,
  details: Readonly<Record<string, string>> = {},
): Partial<ServiceError> {
  const metadata = new Metadata()
  metadata.set('exception', name)
  for (const [key, value] of Object.entries(details)) metadata.set(key, value)
  return Object.assign(new Error(name), { code: CODES[name], details: name, metadata })
}

/** Builds the protocol's representation of an error that a handler threw. */
export function toInternalError(error: unknown): Partial<ServiceError> {
  if (isServiceError(error)) return error
  return Object.assign(new Error(String(error)), { code: status.INTERNAL, details: String(error) })
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'metadata' in error
}
