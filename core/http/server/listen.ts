import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import { createDrain, type Drain } from './drain.ts'
import { createHardenedServer, type ServerOptions } from './hardened-server.ts'

/** A listening server that can shut down gracefully. */
export interface Listener {
  /** `http://host:port` with the actual port, also if port 0 was requested. */
  readonly url: string
  readonly stop: Drain
}

/**
 * Starts a server for the application. Rejects if the address cannot be bound. Port 0 selects a free port.
 */
export async function listen(
  app: Koa,
  host: string,
  port: number,
  options: ServerOptions = {},
): Promise<Listener> {
  const server = createHardenedServer(app.callback(), options)
  const stop = createDrain(server, options.sockets, options.interruptRequests)
  await bind(server, host, port)
  const { port: actualPort } = server.address() as AddressInfo
  const urlHost = host.includes(':') ? `[${host}]` : host
  return { url: `http://${urlHost}:${actualPort}`, stop }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(toListenError(error, `${host}:${port}`))
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

function toListenError(error: NodeJS.ErrnoException, address: string): Error {
  if (error.code !== 'EADDRINUSE') return error
  const message = `${address} is already in use. Stop the other process, or choose another port.`
  return new Error(message, { cause: error })
}
