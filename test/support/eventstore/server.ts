import type { Users } from './access.ts'
import type { Faults } from './faults.ts'
import type { Gate } from './gate.ts'
import { type ServerTls, startNode } from './node.ts'
import { Store } from './store.ts'

export interface EventStoreOptions {
  /** 0, the default, picks a free port. */
  readonly port?: number
  /** The database file; in memory by default. */
  readonly file?: string
  /** The version that it reports. Before 23.10, subscriptions are not notified when they have caught up. */
  readonly version?: string
  readonly tls?: ServerTls
  /** Everybody may do everything by default. */
  readonly users?: Users
}

/** The version whose behavior the server has. */
export const EVENTSTORE_VERSION = '24.2.0'

/**
 * A test server that behaves like one node of EventStoreDB 24.2, on a loopback port, and can inject faults.
 */
export interface EventStore extends Faults, Omit<Gate, 'close'> {
  readonly connectionString: string
  /** The server's events. Allows tests to act as other programs and as operators. */
  readonly store: Store
  /** Events that subscriptions looked at, whether they passed the filter or not. */
  scanned(): number
  /** Calls of batch append that clients have opened. */
  appendCalls(): number
  /** Replaces the users and their passwords. */
  setUsers(users: Users): void
  stop(): Promise<void>
}

/** Starts a server. A server with the same file as an earlier one has its events. */
export async function startEventStore(options: EventStoreOptions = {}): Promise<EventStore> {
  const { version = EVENTSTORE_VERSION, file = ':memory:', port = 0, tls } = options
  const store = new Store(file)
  let { users } = options
  const { close, ...node } = await startNode({
    store,
    port,
    version,
    tls,
    users: () => users,
    members: () => [{ port: node.port, state: 'leader', isAlive: true }],
  })
  return {
    ...node,
    store,
    connectionString: `esdb://127.0.0.1:${node.port}?tls=${tls !== undefined}`,
    setUsers(changed) {
      users = changed
    },
    async stop() {
      await close()
      store.close()
    },
  }
}
