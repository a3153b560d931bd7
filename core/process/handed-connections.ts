import type { ChildProcess } from 'node:child_process'

/** A message of `node:cluster` itself. */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/** The connection of a message, which the process owns until a worker has taken it. */
interface ConnectionHandle {
  close(): void
}

/** How soon the channel of a process that has exited is looked at again, in milliseconds. */
const CHANNEL_CLOSES_MS = 10

/**
 * Follows the connections that `node:cluster` hands to a worker until the worker has taken them. Node forgets
 * those that a worker has not taken when it dies: they would stay open without an answer for ever. See
 * docs/decisions/cluster.md, "The primary accepts connections".
 */
export function followHandedConnections(child: ChildProcess, hasOtherWorkers: () => boolean): void {
  const handed = new Map<number, ConnectionHandle>()
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  child.send = (message: ClusterMessage, ...rest: unknown[]) => {
    const [handle] = rest
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined)
      handed.set(message.seq, handle as ConnectionHandle)
    return send(message, ...rest)
  }
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack)
  })
  // Not `disconnect`, which Node does not emit while a connection is on its way. What the worker has answered
  // is read before the channel counts as closed.
  child.once('exit', function release() {
    if (child.connected) {
      setTimeout(release, CHANNEL_CLOSES_MS)
      return
    }
    // Node's own listener stops handing connections to the worker.
    child.emit('disconnect')
    // A worker takes a connection before it reads from it, so another worker can still serve it.
    for (const [seq, handle] of handed) {
      // As if the worker had refused it.
      if (hasOtherWorkers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: seq, accepted: false })
      else handle.close()
    }
    handed.clear()
  })
}
