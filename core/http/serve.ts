import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import { createGuardedServer, type ServeOptions } from './guarded-server.ts'
import { trackUnused } from './unused-connections.ts'

/** A listening server that can stop without cutting off what is running. */
export interface Listener {
  /** `http://host:port` with the real port. */
  readonly url: string
  /** Accepts nothing new, lets running requests end for at most `graceMs`, then cuts what is left. */
  stop(graceMs: number): Promise<void>
}

export async function serve(
  app: Koa,
  host: string,
  port: number,
  options: ServeOptions = {},
): Promise<Listener> {
  const server = createGuardedServer(app.callback(), options)
  const closeUnused = trackUnused(server)
  await listen(server, host, port)
  const { port: real } = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${real}`, stop: (graceMs) => stop(server, closeUnused, graceMs) }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explain(error, `${host}:${port}`))
    server.once('error', refuse)
    server.listen(port, host, () => {
      server.off('error', refuse)
      resolve()
    })
  })
}

function explain(error: NodeJS.ErrnoException, address: string): Error {
  if (error.code !== 'EADDRINUSE') return error
  return new Error(`${address} is in use by another program. Stop that, or choose another port.`, {
    cause: error,
  })
}

/** How often connections are looked for whose last answer has ended; only while stopping. */
const SWEEP_MS = 50

function stop(server: Server, closeUnused: () => void, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    // A connection that is kept alive would hold the server open: each is closed with its last answer.
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS)
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(cut)
      resolve()
    })
    server.closeIdleConnections()
    closeUnused()
  })
}
