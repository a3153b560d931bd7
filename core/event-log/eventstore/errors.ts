import { type CommandError, convertToCommandError, ErrorType, isCommandError } from '@eventstore/db-client'
import { EventLogUnavailableError } from '../../contract/event-log.ts'
import { withTimeout } from '../../threads/timeout.ts'
import { errorMessage } from '../../util/error-message.ts'

/** Converts any error of the client to the port's error, with a message for the operator. */
export function toUnavailableError(error: unknown, outcomeUnknown = false): EventLogUnavailableError {
  if (EventLogUnavailableError.isInstance(error) && (error.outcomeUnknown || !outcomeUnknown)) return error
  const message = EventLogUnavailableError.isInstance(error)
    ? error.message
    : `the event log server ${describeServerError(error)}`
  return new EventLogUnavailableError(message, {
    cause: error,
    outcomeUnknown,
    transient: isTransientError(error),
    accessDenied: toCommandError(error)?.type === ErrorType.ACCESS_DENIED,
  })
}

/** Whether a retry may succeed. After a transient error, the outcome of an append may be unknown. */
export function isTransientError(error: unknown): boolean {
  const command = toCommandError(error)
  if (isDiscoveryFailure(error)) return true
  return error instanceof ServerTimeoutError || (command !== undefined && TRANSIENT_TYPES.has(command.type))
}

/** Whether a read or subscription failed because no event of the server is at its start position. */
export function isInvalidPosition(error: unknown): boolean {
  return /invalid position/i.test(toCommandError(error)?.message ?? '')
}

/** Whether a failed call may have reached the server; true in case of doubt. */
export function mayHaveReachedServer(error: unknown): boolean {
  // The messages of grpc-js when it had no connection to send the call on.
  const isUnsent =
    error instanceof Error &&
    /No connection established|Name resolution failed|^Failed to discover/.test(error.message)
  return isTransientError(error) && !isUnsent
}

/** The server did not respond in time. */
export class ServerTimeoutError extends EventLogUnavailableError {
  constructor(message = 'the event log server did not respond in time') {
    super(message, { transient: true })
  }
}

/**
 * Rejects with `ServerTimeoutError` if the promise does not settle within `timeoutMs`. Needed in addition to
 * gRPC deadlines: the client also waits internally, for example for a connection, and no deadline ends those
 * waits.
 */
export function withServerTimeout<Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> {
  return withTimeout(promise, timeoutMs, () => new ServerTimeoutError())
}

/** No node of a cluster answered, or there was no leader. The client throws a plain error. */
function isDiscoveryFailure(error: unknown): boolean {
  return error instanceof Error && /^Failed to discover after/.test(error.message)
}

const TRANSIENT_TYPES: ReadonlySet<string> = new Set([
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.TIMEOUT,
  ErrorType.UNKNOWN,
  ErrorType.NOT_LEADER,
])

/** Returns undefined for an error that is not the failure of a call. */
function toCommandError(error: unknown): CommandError | undefined {
  if (!(error instanceof Error)) return undefined
  const converted = convertToCommandError(error)
  return isCommandError(converted) ? converted : undefined
}

/** Completes the sentence "the event log server …". */
function describeServerError(error: unknown): string {
  const message = errorMessage(error)
  if (isDiscoveryFailure(error))
    return `cannot be reached: no node of the cluster answers as a leader (${message})`
  switch (toCommandError(error)?.type) {
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return `cannot be reached: ${message}${describeTlsMistake(message)}`
    case ErrorType.DEADLINE_EXCEEDED:
    case ErrorType.TIMEOUT:
      return 'did not respond in time'
    case ErrorType.ACCESS_DENIED:
      return (
        'denied access: check the user name and password, and that the user may read $all, and read, write ' +
        'and delete the streams of Signalbox (docs/event-log.md, "Permissions")'
      )
    case ErrorType.NOT_LEADER:
      return 'is not the leader of its cluster'
    default:
      return `failed: ${message}`
  }
}

/** Node's and OpenSSL's messages for certificates that are not trusted, or that name another host. */
const UNTRUSTED = /certificate|self.signed|unable to (get|verify)|altnames|CERT_/i
/** A TLS client received something else than TLS. */
const NOT_TLS = /wrong version number|EPROTO|packet length too long/i
/** Node 26 and later refuse IP addresses as the name of a TLS server. */
const ADDRESS_AS_NAME = /ServerName to an IP address/
/** What a client without TLS sees of a server with TLS, among other causes. */
const PROTOCOL_ERROR = /protocol error|ECONNRESET|connection dropped|failed to connect|socket hang up/i

/** A hint for messages that come from wrong TLS settings; empty for others. */
function describeTlsMistake(message: string): string {
  if (ADDRESS_AS_NAME.test(message)) return '. Name the server by its host name, not by its IP address'
  if (NOT_TLS.test(message)) return '. The server does not use TLS on this port: add tls=false'
  if (UNTRUSTED.test(message))
    return ". The server's certificate is not trusted: set tlsCAFile to the certificate of its authority"
  if (PROTOCOL_ERROR.test(message)) return '. If the server uses TLS, remove tls=false'
  return ''
}
