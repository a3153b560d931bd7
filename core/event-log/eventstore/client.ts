import { EventStoreDBClient } from '@eventstore/db-client'
import { EventLogUnavailableError } from '../../contract/event-log.ts'

/** The official client, and what its public face leaves out. */
interface EventStoreConnection {
  readonly client: EventStoreDBClient
  /** The server's version, such as `24.10.0`; `unknown` when it does not tell. */
  readServerVersion(): Promise<string>
  /** Ends the calls under way and the connection. */
  close(): void
}

/** A server, and how it is used. */
export interface EventStoreServer extends Omit<EventStoreConnection, 'readServerVersion'> {
  readonly streamPrefix: string
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number
  /** Whether subscriptions are told when they have caught up. */
  readonly reportsCaughtUp: boolean
}

/** A client for a connection string; connects at the first call. Throws `LogUnavailable` when the string is not valid. */
export function connectEventStore(connectionString: string): EventStoreConnection {
  const client = createClient(parseConnectionString(connectionString))
  // The cast is safe for the version in the lock file: these are members of the class that its types mark as protected.
  const inside = client as unknown as Inside
  appendOneByOne(inside)
  surviveFailedReconnects(inside)
  return {
    client,
    readServerVersion: async () => (await inside.capabilities).serverVersion,
    close() {
      // It ends the calls at once. Its wait for their streams is not shared: it was seen not to end after a read left early.
      void client.dispose()
      // `dispose` leaves the connection open.
      inside.getChannel().then((channel) => channel.close(), ignore)
    },
  }
}

interface Inside {
  readonly capabilities: Promise<{ readonly serverVersion: string }>
  supports(): Promise<boolean>
  handleError(client: unknown, error: Error): Promise<void>
  getChannel(): Promise<{ close(): void }>
}

function createClient(connectionString: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connectionString)
  } catch (error) {
    // The client's message and its properties may quote the string.
    throw invalid(readReason(error))
  }
}

function readReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'expected' in error ? `a value should be ${error.expected}` : error.message
}

/**
 * Batch append, which the client prefers where the server has it, knows no deadline and keeps the appends of all clients in
 * one table: an answer that comes after a connection broke ends the process (KurrentDB-Client-NodeJS#523, not fixed here).
 * Told that the server does not support it, the client sends every append as a call of its own.
 */
function appendOneByOne(inside: Inside): void {
  inside.supports = () => Promise.resolve(false)
}

/** The client does not wait for this, so a rejection, as when no node of a cluster answers, would end the process. */
function surviveFailedReconnects(inside: Inside): void {
  const handleError = inside.handleError
  inside.handleError = (client, error) => handleError(client, error).catch(ignore)
}

function ignore(): void {}

const SHAPE =
  /^(?:esdb|kurrentdb)(?<discover>\+discover)?:\/\/(?<user>[^:@/?#]+:[^:@/?#]+@)?(?<hosts>[^@/?#]+)\/?(?:\?(?<options>[^?#]*))?$/

/** The options that the client knows, as it compares them: without regard to case, `_` and `-`. */
const OPTIONS = new Set([
  'connectionname',
  'defaultdeadline',
  'discoveryinterval',
  'gossiptimeout',
  'keepaliveinterval',
  'keepalivetimeout',
  'maxdiscoverattempts',
  'nodepreference',
  'throwonappendfailure',
  'tls',
  'tlscafile',
  'tlsverifycert',
  'usercertfile',
  'userkeyfile',
])

/**
 * Checks a connection string of EventStoreDB or KurrentDB, and gives it in the form that the client takes.
 * Throws `LogUnavailable` with a sentence that quotes nothing of it but option names: the string may hold a password.
 * The client prints the whole string when it meets an option that it does not know, so such a string never gets there.
 */
export function parseConnectionString(text: string): string {
  const parts = SHAPE.exec(text.trim())?.groups
  if (!parts)
    throw invalid(
      'it must look like esdb://user:password@host:2113?tls=true, or esdb+discover:// or kurrentdb://, ' +
        'with : / ? # @ in user and password percent-encoded',
    )
  const options = (parts.options ?? '').split('&').filter(Boolean)
  for (const option of options) checkOption(option)
  return `esdb${parts.discover ?? ''}://${parts.user ?? ''}${parts.hosts}${options.length > 0 ? '?' : ''}${options.join('&')}`
}

function checkOption(option: string): void {
  const [key = '', value = ''] = option.split('=')
  const name = key.toLowerCase().replace(/[_-]/g, '')
  if (!OPTIONS.has(name) || value === '') throw invalid(`it has an option that is not known: ${key}`)
  if (name === 'tlsverifycert' && value.toLowerCase() !== 'true')
    throw invalid('certificates are always verified; give the one of your authority with tlsCAFile')
}

/** For use where the client's own message could quote the string. */
function invalid(reason: string): EventLogUnavailableError {
  return new EventLogUnavailableError(`the event log's connection string is not valid: ${reason}`)
}
