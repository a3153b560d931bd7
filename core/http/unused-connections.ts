import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Closes connections on which nothing came yet, as clients open them in advance. Node does not count them among the idle ones. */
export function trackUnused(server: Server): () => void {
  const open = new Set<Socket>()
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  }
}
