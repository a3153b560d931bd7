import { EventStoreDBClient } from '@eventstore/db-client'
import type { Position } from '../../contract/event-log.ts'
import { type Appender, openAppendPipeline } from './append-pipeline.ts'
import type { ClientInternals } from './client-internals.ts'
import {
  invalidConnectionStringError,
  parseConnectionString,
  withDefaultOptions,
} from './connection-string.ts'
import { createSharedAppends } from './shared-appends.ts'
import { openSubscription, type SubscriptionCall } from './subscription-call.ts'
import { allowTlsToAddresses } from './tls-to-address.ts'

/** The official client, plus functions that its public API lacks. */
interface EventStoreConnection {
  readonly client: EventStoreDBClient
  /** Resolves with the server's version, such as `24.10.0`, or `unknown` if the server does not report it. */
  readServerVersion(): Promise<string>
  /** Sends all appends over one call, in their order. */
  openOrderedAppends(timeoutMs: number): Promise<Appender>
  createSharedAppends(timeoutMs: number): Appender
  openSubscription(from: Position, prefixes: readonly string[]): Promise<SubscriptionCall>
  /** Cancels calls in flight and closes the connection. */
  close(): void
}

/** A connection to a server, with the settings of its log. */
export interface EventStoreServer
  extends Pick<EventStoreConnection, 'client' | 'openSubscription' | 'close'> {
  readonly streamPrefix: string
  /** Maximum time to wait for a response. */
  readonly timeoutMs: number
  readonly appends: Appender
  /** False if appends are sent in order, which a retry would change. */
  readonly retriesAppends: boolean
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
  ignoreFailedReconnects(internals)
  return {
    client,
    readServerVersion: async () => (await internals.capabilities).serverVersion,
    openOrderedAppends: (timeoutMs) => openAppendPipeline(internals, timeoutMs),
    openSubscription: (from, prefixes) => openSubscription(internals, from, prefixes),
    createSharedAppends: (timeoutMs) => createSharedAppends(internals, timeoutMs),
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

/**
 * The client does not await `handleError`, so a rejection, such as when no node of a cluster responds, would
 * end the process.
 */
function ignoreFailedReconnects(internals: ClientInternals): void {
  const handleError = internals.handleError
  internals.handleError = (client, error) => handleError(client, error).catch(ignore)
}

function ignore(): void {}
