import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import { createDrain, type Drain } from './drain.ts'
import { createHardenedServer, type ServerOptions } from './hardened-server.ts'

/** A listening server that can stop without cutting off what is running. */
export interface Listener {
  /** `http://host:port` with the real port. */
  readonly url: string
  readonly stop: Drain
}

export async function listen(
  app: Koa,
  host: string,
  port: number,
  options: ServerOptions = {},
): Promise<Listener> {
  const server = createHardenedServer(app.callback(), options)
  const stop = createDrain(server)
  await bind(server, host, port)
  const { port: real } = server.address() as AddressInfo
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `http://${name}:${real}`, stop }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(toListenError(error, `${host}:${port}`))
    server.once('error', refuse)
    server.listen(port, host, () => {
      server.off('error', refuse)
      resolve()
    })
  })
}

function toListenError(error: NodeJS.ErrnoException, address: string): Error {
  if (error.code !== 'EADDRINUSE') return error
  return new Error(`${address} is in use by another program. Stop that, or choose another port.`, {
    cause: error,
  })
}
