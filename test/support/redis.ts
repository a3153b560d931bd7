import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { makeFolder } from './gateway.ts'

/** A real redis-server of its own, on a free port. */
export interface RunningRedis {
  readonly url: string
  readonly client: Redis
  /** Lets go of everything at once, as a crash would. */
  kill(): Promise<void>
  /** Starts again, empty, on the same port. */
  restart(): Promise<void>
  /** Keeps its connections and answers nothing, until `thaw`. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/** Undefined when redis-server is not installed; where `CI` is set it has to be. */
export async function startRedis(password?: string): Promise<RunningRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) {
    if (process.env.CI) throw new Error('redis-server is not installed, and CI must not go without it')
    return undefined
  }
  const port = await findPort()
  const folder = await makeFolder()
  let server = await spawnServer(port, folder, password)
  const client = new Redis({ port, ...(password && { password }) })
  client.on('error', () => undefined)
  const kill = async () => {
    const exited = once(server, 'exit')
    server.kill('SIGKILL')
    await exited
  }
  return {
    url: `redis://${password ? `:${password}@` : ''}127.0.0.1:${port}`,
    client,
    kill,
    async restart() {
      server = await spawnServer(port, folder, password)
    },
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    async stop() {
      client.disconnect()
      if (server.exitCode === null && server.signalCode === null) await kill()
    },
  }
}

async function spawnServer(port: number, folder: string, password?: string): Promise<ChildProcess> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
  const server = spawn('redis-server', [...options, ...(password ? ['--requirepass', password] : [])], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface(server.stdout)) {
    if (line.includes('Ready to accept connections')) break
  }
  server.stdout.resume()
  return server
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
