import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP listener that passes its connections on, and that can freeze like a process that was stopped. */
export interface Gate {
  readonly port: number
  /** Stops reading and writing. Connections stay open, and new ones are accepted, without any response. */
  freeze(): void
  thaw(): void
  /** Breaks all open connections. */
  dropConnections(): void
  /** Connections that were opened so far. */
  connections(): number
  /** Bytes sent over the open connections. */
  bytesSent(): number
  close(): Promise<void>
}

/** Listens on a loopback port; 0 picks a free one. `accept` receives each connection. */
export async function openGate(port: number, accept: (socket: Socket) => void): Promise<Gate> {
  const inner = await listen(0, accept)
  const innerPort = (inner.address() as AddressInfo).port
  const pairs = new Map<Socket, Socket>()
  let isFrozen = false
  let opened = 0

  const outer = await listen(port, (socket) => {
    opened += 1
    const behind = connect({ port: innerPort, host: '127.0.0.1', noDelay: true })
    pairs.set(socket, behind)
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
    socket.on('close', () => pairs.delete(socket))
    if (!isFrozen) join(socket, behind)
  })

  return {
    port: (outer.address() as AddressInfo).port,
    freeze() {
      isFrozen = true
      for (const [socket, behind] of pairs) separate(socket, behind)
    },
    thaw() {
      isFrozen = false
      for (const [socket, behind] of pairs) join(socket, behind)
    },
    dropConnections() {
      for (const socket of pairs.keys()) socket.destroy()
    },
    connections: () => opened,
    bytesSent: () => [...pairs.keys()].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    async close() {
      const closed = Promise.all([once(outer, 'close'), once(inner, 'close')])
      outer.close()
      inner.close()
      for (const [socket, behind] of pairs) {
        socket.destroy()
        behind.destroy()
      }
      await closed
    },
  }
}

function join(socket: Socket, behind: Socket): void {
  socket.pipe(behind).pipe(socket)
}

function separate(socket: Socket, behind: Socket): void {
  socket.unpipe(behind).pause()
  behind.unpipe(socket).pause()
}

async function listen(port: number, accept: (socket: Socket) => void): Promise<Server> {
  const server = createServer({ noDelay: true }, accept)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}
