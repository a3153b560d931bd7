import { EventStoreDBClient } from '@eventstore/db-client'
import { type AppendPipeline, openAppendPipeline } from './append-pipeline.ts'
import type { ClientInternals } from './client-internals.ts'
import {
  invalidConnectionStringError,
  parseConnectionString,
  withDefaultOptions,
} from './connection-string.ts'

/** The official client, plus functions that its public API lacks. */
interface EventStoreConnection {
  readonly client: EventStoreDBClient
  /** Resolves with the server's version, such as `24.10.0`, or `unknown` if the server does not report it. */
  readServerVersion(): Promise<string>
  openAppendPipeline(timeoutMs: number): Promise<AppendPipeline>
  /** Cancels calls in flight and closes the connection. */
  close(): void
}

/** A connection to a server, with the settings of its log. */
export interface EventStoreServer extends Pick<EventStoreConnection, 'client' | 'close'> {
  readonly streamPrefix: string
  /** Maximum time to wait for a response. */
  readonly timeoutMs: number
  /** Takes all appends, if there is one. They are not retried then, which would change their order. */
  readonly pipeline: AppendPipeline | undefined
  /** Whether the server notifies subscriptions when they have caught up. */
  readonly reportsCaughtUp: boolean
}

/**
 * Creates a client for a connection string; it connects on the first call. Throws `EventLogUnavailableError`
 * if the string is not valid.
 */
export function connectEventStore(connectionString: string): EventStoreConnection {
  const client = createClient(withDefaultOptions(parseConnectionString(connectionString)))
  // Safe for the version in the lock file: the class has these members, but its types declare them protected.
  const internals = client as unknown as ClientInternals
  disableBatchAppend(internals)
  ignoreFailedReconnects(internals)
  return {
    client,
    readServerVersion: async () => (await internals.capabilities).serverVersion,
    openAppendPipeline: (timeoutMs) => openAppendPipeline(internals, timeoutMs),
    close() {
      // Cancels calls synchronously. Its promise is not awaited: after a read that was stopped early, it was
      // seen not to settle.
      void client.dispose()
      // `dispose` leaves the channel open.
      internals.getChannel().then((channel) => channel.close(), ignore)
    },
  }
}

function createClient(connectionString: string): EventStoreDBClient {
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

/**
 * Makes the client send each append as its own call, by reporting that the server does not support batch
 * append. The client would prefer batch append, but that ignores deadlines and keeps the appends of all
 * clients in one table: a response that arrives after a connection broke ends the process
 * (KurrentDB-Client-NodeJS#523, not fixed in this version).
 */
function disableBatchAppend(internals: ClientInternals): void {
  internals.supports = () => Promise.resolve(false)
}

/**
 * The client does not await `handleError`, so a rejection, such as when no node of a cluster responds, would
 * end the process.
 */
function ignoreFailedReconnects(internals: ClientInternals): void {
  const handleError = internals.handleError
  internals.handleError = (client, error) => handleError(client, error).catch(ignore)
}

function ignore(): void {}
