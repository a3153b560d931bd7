import { Metadata, type ServiceError, status } from '@grpc/grpc-js'

/** The errors that EventStoreDB names in the trailers of a failed call, with the gRPC code it gives them. */
const CODES = {
  'not-ready': status.UNAVAILABLE,
  'access-denied': status.PERMISSION_DENIED,
  'not-leader': status.NOT_FOUND,
  'maximum-append-size-exceeded': status.INVALID_ARGUMENT,
} as const

export type Refusal = keyof typeof CODES

/** The failure of a call, as the protocol puts it. */
export function refusal(
  name: Refusal,
  details: Readonly<Record<string, string>> = {},
): Partial<ServiceError> {
  const metadata = new Metadata()
  metadata.set('exception', name)
  for (const [key, value] of Object.entries(details)) metadata.set(key, value)
  return Object.assign(new Error(name), { code: CODES[name], details: name, metadata })
}

/** What a handler threw, as the protocol puts it. */
export function internalError(error: unknown): Partial<ServiceError> {
  if (isServiceError(error)) return error
  return Object.assign(new Error(String(error)), { code: status.INTERNAL, details: String(error) })
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'metadata' in error
}
