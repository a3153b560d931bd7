import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/**
 * Accepts nothing new and resolves when the last connection has ended. A connection that is kept alive ends with its next answer, one on
 * which nothing is asked after `lingerMs`, and no later than it would end otherwise. From then on running requests may end for at most
 * `graceMs`, then they are cut. Calling it again can only shorten both.
 */
export type Drain = (graceMs: number, lingerMs?: number) => Promise<void>

/** How much longer than connections are kept alive the server waits for them to end by themselves. */
const KEEP_ALIVE_MARGIN_MS = 1000

/** How often connections are looked for whose last answer has ended; only while draining. */
const SWEEP_MS = 50

/** Makes the drain of a server that has no connection yet. */
export function createDrain(server: Server): Drain {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const timers: NodeJS.Timeout[] = []
  let closed: Promise<void> | undefined
  let isClosed = false

  async function close(): Promise<void> {
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    await new Promise<void>((resolve) => {
      // The close of an HTTP server would also cut connections whose answer is not yet on its way as a whole.
      NetServer.prototype.close.call(server, () => resolve())
    })
    isClosed = true
    for (const timer of timers) clearInterval(timer)
  }

  function sweep(): void {
    // Clients open connections in advance. One on which nothing came yet does not count as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // One whose answer has ended counts as idle, although a slow client may still be taking it.
    const isSending = [...sockets].some(({ writableLength }) => writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }

  return (graceMs, lingerMs = 0) => {
    closed ??= close()
    if (isClosed) return closed
    const waits = Math.min(lingerMs, server.keepAliveTimeout + KEEP_ALIVE_MARGIN_MS)
    const beginSweeping = () => {
      sweep()
      timers.push(setInterval(sweep, SWEEP_MS))
    }
    timers.push(
      setTimeout(beginSweeping, waits),
      setTimeout(() => server.closeAllConnections(), waits + graceMs),
    )
    return closed
  }
}
