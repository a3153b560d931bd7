import { type CommandError, convertToCommandError, ErrorType, isCommandError } from '@eventstore/db-client'
import { EventLogUnavailableError } from '../../contract/event-log.ts'
import { errorMessage } from '../../util/error-message.ts'

/** Any failure of the client as the port's error, with a sentence for the operator. */
export function toUnavailableError(error: unknown, outcomeUnknown = false): EventLogUnavailableError {
  if (EventLogUnavailableError.isInstance(error) && (error.outcomeUnknown || !outcomeUnknown)) return error
  const message = EventLogUnavailableError.isInstance(error)
    ? error.message
    : `the event log server ${describeFailure(error)}`
  return new EventLogUnavailableError(message, {
    cause: error,
    outcomeUnknown: outcomeUnknown,
    transient: isTransientError(error),
  })
}

/** Whether the same append may do better in a moment, and whether it has been done may not be known. */
export function isTransientError(error: unknown): boolean {
  const failure = readFailure(error)
  return error instanceof ServerTimeoutError || (failure !== undefined && PASSING.has(failure.type))
}

/** Whether the call of a failure may have reached the server. In doubt it may. */
export function mayHaveReachedServer(error: unknown): boolean {
  // What grpc-js says when it had no connection to send the call on.
  const isUnsent =
    error instanceof Error && /No connection established|Name resolution failed/.test(error.message)
  return isTransientError(error) && !isUnsent
}

/** The server did not answer in time. */
export class ServerTimeoutError extends EventLogUnavailableError {
  constructor() {
    super('the event log server did not answer in time', { transient: true })
  }
}

/** Rejects with `Late` when the promise does not settle in time; the client has waits of its own that no deadline ends. */
export async function withTimeout<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ServerTimeoutError()), milliseconds)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const PASSING: ReadonlySet<string> = new Set([
  ErrorType.UNAVAILABLE,
  ErrorType.CANCELLED,
  ErrorType.DEADLINE_EXCEEDED,
  ErrorType.TIMEOUT,
  ErrorType.UNKNOWN,
  ErrorType.NOT_LEADER,
])

/** Undefined for what is not a failure of a call. */
function readFailure(error: unknown): CommandError | undefined {
  if (!(error instanceof Error)) return undefined
  const converted = convertToCommandError(error)
  return isCommandError(converted) ? converted : undefined
}

function describeFailure(error: unknown): string {
  const message = errorMessage(error)
  switch (readFailure(error)?.type) {
    case ErrorType.UNAVAILABLE:
    case ErrorType.CANCELLED:
      return `cannot be reached: ${message}`
    case ErrorType.DEADLINE_EXCEEDED:
    case ErrorType.TIMEOUT:
      return 'did not answer in time'
    case ErrorType.ACCESS_DENIED:
      return 'denies access: check user and password, and that the user may read $all'
    case ErrorType.NOT_LEADER:
      return 'is not the leader of its cluster'
    case ErrorType.MAXIMUM_APPEND_SIZE_EXCEEDED:
      return 'takes no append of this size'
    default:
      return `failed: ${message}`
  }
}
