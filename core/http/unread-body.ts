import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { GatewayContext } from '../contract/index.ts'

/** The largest body that is read and discarded behind its response, so that the connection can be reused. */
const MAX_DISCARDED_BYTES = 64 * 1024

/** How long a connection stays open for reading once its response was sent. */
const LINGER_MS = 1000

/**
 * Handles a body that will not be read, because the response does not depend on it. A small one is discarded.
 * For others the connection closes after the response: a caller without a key could send anything.
 */
export function discardUnreadBody({ req, res }: GatewayContext): void {
  if (req.complete || res.headersSent || !hasBody(req)) return
  const isSmall = Number(req.headers['content-length']) <= MAX_DISCARDED_BYTES
  // Clients that wait for 100 (Continue) may or may not send the body behind the response.
  if (!isSmall || req.headers.expect !== undefined) {
    res.setHeader('connection', 'close')
    linger(req.socket)
  }
  req.resume()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/**
 * Makes the socket close in two steps: a client that is still sending would lose the response if the socket
 * closed with unread data.
 */
function linger(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), LINGER_MS).unref()
  }
}
