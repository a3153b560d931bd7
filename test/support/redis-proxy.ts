import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Stands between a gateway and Redis, and loses what it is told to. */
export interface RedisProxy {
  readonly url: string
  /** Commands reach Redis from now on, and their answers get lost. */
  loseAnswers(): void
  /** Commands get lost from now on. */
  loseCommands(): void
  /** Loses nothing any more. Connections that have lost something are closed, as by a timeout. */
  heal(): void
  close(): void
}

export async function startRedisProxy(target: string): Promise<RedisProxy> {
  const { hostname, port, password } = new URL(target)
  const sockets = new Set<Socket>()
  let loses: 'answers' | 'commands' | undefined
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname)
    for (const [socket, other, kind] of [
      [client, redis, 'commands'],
      [redis, client, 'answers'],
    ] as const) {
      sockets.add(socket)
      socket.on('data', (data) => void (loses !== kind && other.write(data)))
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const closeAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `redis://${password ? `:${password}@` : ''}127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseAnswers() {
      loses = 'answers'
    },
    loseCommands() {
      loses = 'commands'
    },
    heal() {
      loses = undefined
      closeAll()
    },
    close() {
      server.close()
      closeAll()
    },
  }
}
