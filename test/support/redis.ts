import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import type { Context } from 'mocha'
import { makeFolder } from './folders.ts'
import { skip } from './skip.ts'

/** A real redis-server on a free port. */
export interface RunningRedis {
  readonly url: string
  readonly client: Redis
  /** Kills the server, as a crash would. */
  kill(): Promise<void>
  /** Starts the server again, empty, on the same port. */
  restart(): Promise<void>
  /** Stops responding, with all connections open, until `resume`. */
  suspend(): void
  resume(): void
  stop(): Promise<void>
}

/** Starts a server, or skips the suite if redis-server is not installed; fails instead if CI is set. */
export async function requireRedis(context: Context, password?: string): Promise<RunningRedis> {
  return (await startRedis(password)) ?? skip(context, 'redis-server is not installed')
}

/** Undefined if redis-server is not installed. Throws if CI is set: nothing may be skipped there. */
export async function startRedis(password?: string): Promise<RunningRedis | undefined> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) {
    if (process.env.CI) throw new Error('redis-server is not installed, and is required in CI')
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
    suspend: () => server.kill('SIGSTOP'),
    resume: () => server.kill('SIGCONT'),
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

export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
