import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { type Metadata, Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js'
import { checkAccess, type Users } from './access.ts'
import { type AppendCall, handleAppend } from './append.ts'
import { type BatchAppendCall, handleBatchAppend } from './batch-append.ts'
import { type DeleteCall, handleDelete, handleTombstone, type TombstoneCall } from './delete.ts'
import { toInternalError, toServiceError } from './errors.ts'
import { type CallKind, createFaults, type Faults } from './faults.ts'
import { type Gate, openGate } from './gate.ts'
import { buildClusterInfo, buildSupportedMethods, type Member } from './gossip.ts'
import { handleRead, type ReadCall, serializeReadResponse } from './read.ts'
import type { Store } from './store.ts'

/** Key and certificate of a server in PEM. */
export interface ServerTls {
  readonly key: Buffer
  readonly certificate: Buffer
}

interface NodeOptions {
  readonly store: Store
  /** 0 picks a free port. */
  readonly port: number
  readonly version: string
  readonly tls?: ServerTls | undefined
  readonly users?: () => Users | undefined
  /** The cluster as this node sees it. */
  readonly members: () => readonly Member[]
}

/** One node: a server that implements EventStoreDB's protocol on a loopback port and can inject faults. */
export interface Node extends Faults, Gate {
  /** Events that subscriptions of this node looked at, whether they passed the filter or not. */
  scanned(): number
  /** Calls of batch append that clients have opened. */
  appendCalls(): number
}

/** 16 MiB, plus what Kestrel allows on top. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024

export async function startNode(options: NodeOptions): Promise<Node> {
  const { store, version, tls, members } = options
  const faults = createFaults()
  let scanned = 0
  let appendCalls = 0

  const checkUser = (metadata: Metadata, operation: 'read' | 'write') =>
    checkAccess(options.users?.(), metadata, operation)

  /** Writes are forwarded to the leader, unless the caller insists on a leader. */
  function checkLeader(metadata: Metadata): void {
    const leader = members().find(({ state, isAlive }) => state === 'leader' && isAlive)
    if (leader === undefined) throw toServiceError('not-ready')
    if (leader.port === gate.port || metadata.get('requires-leader')[0] !== 'true') return
    throw toServiceError('not-leader', {
      'leader-endpoint-host': '127.0.0.1',
      'leader-endpoint-port': String(leader.port),
    })
  }

  /** Runs the handler of a call with one response. */
  async function respondTo(kind: CallKind, respond: sendUnaryData<unknown>, handle: () => unknown) {
    try {
      await faults.beforeCall(kind)
      const response = await handle()
      if (kind === 'append' && faults.losesResponse()) gate.dropConnections()
      else respond(null, response)
    } catch (error) {
      respond(toInternalError(error))
    }
  }

  /** Runs the handler of a call with a stream of responses. */
  async function streamTo(call: ReadCall | BatchAppendCall, handle: () => Promise<void> | void) {
    try {
      await handle()
    } catch (error) {
      call.emit('error', toInternalError(error))
    }
  }

  const grpc = new Server({ 'grpc.max_receive_message_length': MAX_MESSAGE_BYTES })
  const { read, ...service } = streams.StreamsService
  const fastRead = { ...read, responseSerialize: serializeReadResponse }
  grpc.addService(
    { ...service, read: fastRead },
    {
      append: (call: AppendCall, respond: sendUnaryData<unknown>) =>
        respondTo('append', respond, () => {
          checkLeader(call.metadata)
          return handleAppend(call, store, () => checkUser(call.metadata, 'write'))
        }),
      batchAppend: (call: BatchAppendCall) =>
        streamTo(call, () => {
          appendCalls += 1
          // The password and the rights of a user are those at the start of a call.
          const users = options.users?.()
          checkAccess(users, call.metadata, 'read')
          return handleBatchAppend(call, {
            store,
            delay: faults.delayed,
            check() {
              faults.checkRefused('append')
              checkLeader(call.metadata)
              checkAccess(users, call.metadata, 'write')
            },
            losesAnswer() {
              const isLost = faults.losesResponse()
              if (isLost) gate.dropConnections()
              return isLost
            },
          })
        }),
      delete: (call: DeleteCall, respond: sendUnaryData<unknown>) =>
        respondTo('delete', respond, () => {
          checkLeader(call.metadata)
          return handleDelete(call, store, () => checkUser(call.metadata, 'write'))
        }),
      tombstone: (call: TombstoneCall, respond: sendUnaryData<unknown>) =>
        respondTo('delete', respond, () => {
          checkLeader(call.metadata)
          return handleTombstone(call, store, () => checkUser(call.metadata, 'write'))
        }),
      read: (call: ReadCall) =>
        streamTo(call, async () => {
          await faults.beforeCall('read')
          checkLeader(call.metadata)
          await handleRead(call, {
            store,
            reportsCaughtUp: reportsCaughtUp(version),
            checkAccess: () => checkUser(call.metadata, 'read'),
            onScanned(events) {
              scanned += events
            },
          })
        }),
    },
  )
  grpc.addService(features.ServerFeaturesService, {
    getSupportedMethods: (_: unknown, respond: sendUnaryData<unknown>) =>
      respondTo('features', respond, () => buildSupportedMethods(version)),
  })
  grpc.addService(gossip.GossipService, {
    read: (_: unknown, respond: sendUnaryData<unknown>) =>
      respondTo('gossip', respond, () => buildClusterInfo(members())),
  })

  const credentials = tls
    ? ServerCredentials.createSsl(null, [{ private_key: tls.key, cert_chain: tls.certificate }])
    : ServerCredentials.createInsecure()
  const injector = grpc.createConnectionInjector(credentials)
  const gate = await openGate(options.port, (socket) => injector.injectConnection(socket))

  return {
    ...faults,
    ...gate,
    scanned: () => scanned,
    appendCalls: () => appendCalls,
    async close() {
      const closed = gate.close()
      grpc.forceShutdown()
      await closed
    },
  }
}

/** True from version 23.10. */
function reportsCaughtUp(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 23 || (major === 23 && minor >= 10)
}
