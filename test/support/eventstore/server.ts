import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { Server, ServerCredentials, type ServiceError, type sendUnaryData } from '@grpc/grpc-js'
import { type AppendCall, handleAppend } from './append.ts'
import { buildClusterInfo, buildSupportedMethods } from './cluster.ts'
import { type DeleteCall, handleDelete } from './delete.ts'
import { type ServerError, toInternalError, toServiceError } from './errors.ts'
import { handleRead, type ReadCall } from './read.ts'
import { Store } from './store.ts'

export interface EventStoreOptions {
  /** 0, the default, picks a free port. */
  readonly port?: number
  /** The database file; in memory by default. */
  readonly file?: string
  /** The version that it reports. Before 23.10, subscriptions are not notified when they have caught up. */
  readonly version?: string
}

/** A test server that implements EventStoreDB's protocol on a loopback port and can inject faults. */
export interface EventStore {
  readonly port: number
  readonly connectionString: string
  /** The server's events. Allows tests to write events of other programs. */
  readonly store: Store
  /** Delays every further call, in milliseconds. */
  delay(milliseconds: number): void
  /** Breaks all open connections. */
  dropConnections(): void
  /** Executes the next `count` appends, but breaks the connections instead of responding. */
  loseResponses(count: number): void
  /** Fails every further call until `accept` is called. */
  refuse(error: ServerError, details?: Readonly<Record<string, string>>): void
  accept(): void
  /** Bytes sent over the open connections. */
  bytesSent(): number
  stop(): Promise<void>
}

/** Starts a server. A server with the same file as an earlier one has its events. */
export async function startEventStore(options: EventStoreOptions = {}): Promise<EventStore> {
  const { version = '24.10.0', file = ':memory:' } = options
  const store = new Store(file)
  const faults = { delayMs: 0, responsesToLose: 0, error: undefined as Partial<ServiceError> | undefined }
  const sockets = new Set<Socket>()
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy()
  }

  async function beforeEachCall(): Promise<void> {
    if (faults.delayMs > 0) await sleep(faults.delayMs, undefined, { ref: false })
    if (faults.error) throw faults.error
  }

  const grpc = new Server({ 'grpc.max_receive_message_length': 17 * 1024 * 1024 })
  grpc.addService(streams.StreamsService, {
    async append(call: AppendCall, respond: sendUnaryData<unknown>) {
      try {
        await beforeEachCall()
        const appended = await handleAppend(call, store)
        if (faults.responsesToLose === 0) return respond(null, appended)
        faults.responsesToLose -= 1
        dropConnections()
      } catch (error) {
        respond(toInternalError(error))
      }
    },
    async delete(call: DeleteCall, respond: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => respond(null, handleDelete(call, store)), respond)
    },
    async read(call: ReadCall) {
      try {
        await beforeEachCall()
        await handleRead(call, store, reportsCaughtUp(version))
      } catch (error) {
        call.emit('error', toInternalError(error))
      }
    },
  })
  grpc.addService(features.ServerFeaturesService, {
    async getSupportedMethods(_call: unknown, respond: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => respond(null, buildSupportedMethods(version)), respond)
    },
  })
  grpc.addService(gossip.GossipService, {
    async read(_call: unknown, respond: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => respond(null, buildClusterInfo(port)), respond)
    },
  })

  // Accepts connections itself, to be able to break them.
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    injector.injectConnection(socket)
  })
  listener.listen(options.port ?? 0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo

  return {
    port,
    connectionString: `esdb://127.0.0.1:${port}?tls=false`,
    store,
    delay(milliseconds) {
      faults.delayMs = milliseconds
    },
    dropConnections,
    loseResponses(count) {
      faults.responsesToLose = count
    },
    refuse(error, details) {
      faults.error = toServiceError(error, details)
    },
    accept() {
      faults.error = undefined
    },
    bytesSent: () => [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    async stop() {
      const closed = once(listener, 'close')
      listener.close()
      dropConnections()
      grpc.forceShutdown()
      await closed
      store.close()
    },
  }
}

function reportsCaughtUp(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 10)
}
