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

/** Connections that did not reach a worker that has no file descriptor left. */
const unreached = new WeakSet<ConnectionHandle>()

/** How soon the channel of a process that has exited is looked at again, in milliseconds. */
const CHANNEL_CLOSES_MS = 10

/**
 * Follows the connections that `node:cluster` hands to a worker until the worker has taken them. Node forgets
 * those that a worker has not taken when it dies, or that do not reach it because it has no file descriptor
 * left: they would stay open without an answer, and such a worker would get no other connection. See
 * docs/decisions/cluster.md, "The primary accepts connections".
 */
export function followHandedConnections(child: ChildProcess, hasOtherWorkers: () => boolean): void {
  const handed = new Map<number, ConnectionHandle>()
  /** Messages whose connections have not reached the worker yet, in their order. */
  const onTheirWay: number[] = []
  const confirm = (ack: number, accepted: boolean) =>
    child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted })
  const send = child.send.bind(child) as (...args: unknown[]) => boolean
  child.send = (message: ClusterMessage, ...rest: unknown[]) => {
    const [handle] = rest
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined) {
      handed.set(message.seq, handle as ConnectionHandle)
      onTheirWay.push(message.seq)
    }
    return send(message, ...rest)
  }
  child.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack)
    if (cmd === 'NODE_HANDLE_ACK') onTheirWay.shift()
    if (cmd !== 'NODE_HANDLE_NACK') return
    const seq = onTheirWay.shift()
    const handle = seq === undefined ? undefined : handed.get(seq)
    if (seq === undefined || handle === undefined) return
    // Once to another worker; then Node closes it, as a process does that accepts without a descriptor.
    const isLast = unreached.has(handle) || !hasOtherWorkers()
    unreached.add(handle)
    confirm(seq, isLast)
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
      if (hasOtherWorkers()) confirm(seq, false)
      else handle.close()
    }
    handed.clear()
  })
}
