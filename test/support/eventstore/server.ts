import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { Server, ServerCredentials, type ServiceError, type sendUnaryData } from '@grpc/grpc-js'
import { type AppendCall, answerAppend } from './append.ts'
import { writeClusterInfo, writeSupportedMethods } from './cluster.ts'
import { answerDelete, type DeleteCall } from './delete.ts'
import { internalError, type Refusal, refusal } from './faults.ts'
import { answerRead, type ReadCall } from './read.ts'
import { Store } from './store.ts'

export interface EventStoreOptions {
  /** 0, the default, picks a free one. */
  readonly port?: number
  /** Where the events live; in memory by default. */
  readonly file?: string
  /** The version it says it has. One before 23.10 does not tell subscriptions when they have caught up. */
  readonly version?: string
}

/** A server that speaks EventStoreDB's protocol on a loopback port, and can misbehave. */
export interface EventStore {
  readonly port: number
  readonly connectionString: string
  /** What it holds, for events that no client of a test writes. */
  readonly store: Store
  /** Lets every call from now on wait, in milliseconds. */
  delay(milliseconds: number): void
  /** Breaks every open connection. */
  dropConnections(): void
  /** Writes the next appends as asked, and breaks their connections instead of answering. */
  loseAnswers(count: number): void
  /** Refuses every call from now on, until it is `accept`ed again. */
  refuse(reason: Refusal, details?: Readonly<Record<string, string>>): void
  accept(): void
  /** What has been sent over the connections that are open. */
  bytesSent(): number
  stop(): Promise<void>
}

/** Starts the server; the events of an earlier one at the same file are there again. */
export async function startEventStore(options: EventStoreOptions = {}): Promise<EventStore> {
  const { version = '24.10.0', file = ':memory:' } = options
  const store = new Store(file)
  const faults = { delay: 0, answersToLose: 0, refused: undefined as Partial<ServiceError> | undefined }
  const sockets = new Set<Socket>()
  const dropConnections = () => {
    for (const socket of sockets) socket.destroy()
  }

  async function beforeEachCall(): Promise<void> {
    if (faults.delay > 0) await sleep(faults.delay, undefined, { ref: false })
    if (faults.refused) throw faults.refused
  }

  const grpc = new Server({ 'grpc.max_receive_message_length': 17 * 1024 * 1024 })
  grpc.addService(streams.StreamsService, {
    async append(call: AppendCall, answer: sendUnaryData<unknown>) {
      try {
        await beforeEachCall()
        const appended = await answerAppend(call, store)
        if (faults.answersToLose === 0) return answer(null, appended)
        faults.answersToLose -= 1
        dropConnections()
      } catch (error) {
        answer(internalError(error))
      }
    },
    async delete(call: DeleteCall, answer: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => answer(null, answerDelete(call, store)), answer)
    },
    async read(call: ReadCall) {
      try {
        await beforeEachCall()
        await answerRead(call, store, tellsCaughtUp(version))
      } catch (error) {
        call.emit('error', internalError(error))
      }
    },
  })
  grpc.addService(features.ServerFeaturesService, {
    async getSupportedMethods(_call: unknown, answer: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => answer(null, writeSupportedMethods(version)), answer)
    },
  })
  grpc.addService(gossip.GossipService, {
    async read(_call: unknown, answer: sendUnaryData<unknown>) {
      await beforeEachCall().then(() => answer(null, writeClusterInfo(port)), answer)
    },
  })

  // The connections are accepted here, so that they can be broken here.
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
      faults.delay = milliseconds
    },
    dropConnections,
    loseAnswers(count) {
      faults.answersToLose = count
    },
    refuse(reason, details) {
      faults.refused = refusal(reason, details)
    },
    accept() {
      faults.refused = undefined
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

function tellsCaughtUp(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 10)
}
