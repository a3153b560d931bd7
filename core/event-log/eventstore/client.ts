import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import {
  type AppendResult,
  type AppendToStreamOptions,
  EventStoreDBClient,
  type JSONEventData,
} from '@eventstore/db-client'
import { lazy } from '../../util/lazy.ts'
import {
  invalidConnectionStringError,
  parseConnectionString,
  withDefaultOptions,
} from './connection-string.ts'

/** `deadline`: how long the append may take, in milliseconds. */
type AppendArguments = [
  stream: string,
  events: JSONEventData[],
  options: AppendToStreamOptions & { deadline: number },
]

/** Sends an append to the server. */
export type SendAppend = (...append: AppendArguments) => Promise<AppendResult>

/** A connection to a server, with the settings of its log. */
export interface EventStoreServer {
  readonly client: EventStoreDBClient
  readonly streamPrefix: string
  /** Maximum time to wait for a response. */
  readonly timeoutMs: number
  readonly sendAppend: SendAppend
}

/**
 * Creates a client for a connection string; it connects on the first call. `sharesCalls`: it sends
 * appends over one call. Throws `EventLogUnavailableError` if the string is not valid.
 */
export function connectEventStore(connectionString: string, sharesCalls = false) {
  const client = createClient(withDefaultOptions(parseConnectionString(connectionString)))
  const internals = client as unknown as ClientInternals
  leaveFailedServers(internals)
  // See docs/decisions/event-log.md, "Every append is a call of its own".
  if (!sharesCalls) internals.supports = async () => false
  return {
    client,
    /** Cancels calls in flight and closes the connection. */
    close() {
      // Cancels calls synchronously. Its promise is not awaited: after a read that was stopped early, it was
      // seen not to settle.
      void client.dispose()
      // `dispose` leaves the channel open.
      internals.getChannel().then((channel) => channel.close(), ignore)
    },
  }
}

/**
 * Members of the client that its types declare protected, each for a defect of the client. Safe for the
 * version in the lock file.
 */
interface ClientInternals {
  /** Makes the client connect again if the error means that it has to. */
  handleError(client: unknown, error: Error): Promise<void>
  getChannel(): Promise<{ close(): void }>
  /** Whether the server has a method; asked for batch appends only. */
  supports(method: unknown): Promise<boolean>
}

/**
 * The client does not await `handleError`, so a rejection, such as when no node of a cluster responds, would
 * end the process. It would also connect again after a subscription was cancelled here.
 */
function leaveFailedServers(internals: ClientInternals): void {
  const handleError = internals.handleError
  internals.handleError = async (client, error) => {
    if ('details' in error && error.details === 'Cancelled on client') return
    await handleError(client, error).catch(ignore)
  }
}

function createClient(connectionString: string): EventStoreDBClient {
  allowTlsToAddresses()
  const { warn } = console
  // The client warns of short keepalive intervals on the console, which is not the gateway's log.
  console.warn = ignore
  try {
    return EventStoreDBClient.connectionString(connectionString)
  } catch (error) {
    // Without a cause: the client's message and properties may contain the string, and so the password.
    throw invalidConnectionStringError(describeClientError(error))
  } finally {
    console.warn = warn
  }
}

function describeClientError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'expected' in error ? `expected ${error.expected}` : error.message
}

/** What grpc-js passes to `tls.connect` for a channel. */
interface SecureConnector {
  readonly connectionOptions?: { servername?: string }
}

interface SecureCredentials {
  _createSecureConnector?: (...args: unknown[]) => SecureConnector
}

/**
 * Lets the client connect to IP addresses with TLS, as nodes of a cluster announce them. grpc-js (1.14) sets
 * the address as the name of the server for SNI, which RFC 6066 forbids and Node 26 refuses. The certificate
 * is checked against the address without it, too.
 */
const allowTlsToAddresses = lazy(() => {
  // The copy of grpc-js that the client uses.
  const { resolve } = createRequire(import.meta.url)
  const grpc = createRequire(resolve('@eventstore/db-client'))('@grpc/grpc-js')
  const prototype: SecureCredentials = Object.getPrototypeOf(grpc.credentials.createSsl())
  const create = prototype._createSecureConnector
  if (create === undefined) return
  prototype._createSecureConnector = function (...args) {
    const connector = create.apply(this, args)
    const options = connector.connectionOptions
    if (isIP(options?.servername ?? '') !== 0) delete options?.servername
    return connector
  }
})

function ignore(): void {}
