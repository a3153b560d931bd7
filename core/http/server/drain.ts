import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/**
 * Stops accepting connections and resolves once the last one is closed.
 *
 * Responses from now on carry `connection: close`. Idle connections stay open for `lingerMs` (default 0), at
 * most for the keep-alive timeout. After that time they are closed, and requests in flight have another
 * `graceMs` to finish. Then they are interrupted, and connections whose responses do not end soon are
 * destroyed. Calling it again can only shorten both times.
 */
export type Drain = (graceMs: number, lingerMs?: number) => Promise<void>

/** Added to the keep-alive timeout, so that idle connections can time out on their own first. */
const KEEP_ALIVE_MARGIN_MS = 1000

/**
 * How long interrupted requests have to end, in milliseconds. Longer than a connection stays open behind a
 * response that is incomplete.
 */
const INTERRUPTED_MS = 4000

/** Interval at which connections whose last response has ended are closed; only while draining. */
const SWEEP_INTERVAL_MS = 50

/**
 * Creates the drain function of a server. Call it before the server has accepted a connection. See
 * docs/decisions/cluster.md, "Idle connections survive a rolling restart".
 */
export function createDrain(
  server: Server,
  webSockets?: { drain(): void },
  interruptRequests?: () => void,
): Drain {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const timers: NodeJS.Timeout[] = []
  let closed: Promise<void> | undefined
  let isClosed = false

  async function close(): Promise<void> {
    webSockets?.drain()
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    await new Promise<void>((resolve) => {
      // http.Server.close would also close connections that are still sending a finished response.
      NetServer.prototype.close.call(server, () => resolve())
    })
    isClosed = true
    for (const timer of timers) clearInterval(timer)
  }

  function sweep(): void {
    // Clients open connections in advance. Node does not count a connection without any data as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // Node counts a connection as idle once its response has ended, even if the client is still receiving it.
    const isSending = [...sockets].some(({ writableLength }) => writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }

  function closeAll(): void {
    server.closeAllConnections()
    // Those of WebSockets are no longer the server's.
    for (const socket of sockets) socket.destroy()
  }

  return (graceMs, lingerMs = 0) => {
    closed ??= close()
    if (isClosed) return closed
    const idleMs = Math.min(lingerMs, server.keepAliveTimeout + KEEP_ALIVE_MARGIN_MS)
    const startSweeping = () => {
      sweep()
      timers.push(setInterval(sweep, SWEEP_INTERVAL_MS))
    }
    const endMs = idleMs + graceMs
    if (interruptRequests !== undefined) timers.push(setTimeout(interruptRequests, endMs))
    const closeMs = interruptRequests === undefined ? endMs : endMs + INTERRUPTED_MS
    timers.push(setTimeout(startSweeping, idleMs), setTimeout(closeAll, closeMs))
    return closed
  }
}
