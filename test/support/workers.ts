import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, RunningGateway } from './gateway.ts'

/** Lines of the log so far; throws when one is not whole. */
export function readLog(gateway: RunningGateway): Record<string, unknown>[] {
  const lines = gateway.stderr().split('\n').slice(0, -1)
  return lines.filter((line) => line.includes('"level"')).map((line) => JSON.parse(line))
}

/** Resolves with the lines of a message, when there are so many. */
export async function logged(gateway: RunningGateway, msg: string, times = 1) {
  for (;;) {
    const lines = readLog(gateway).filter((line) => line.msg === msg)
    if (lines.length >= times) return lines
    if (gateway.process.exitCode !== null) throw new Error(`it ended without "${msg}":\n${gateway.stderr()}`)
    await sleep(5)
  }
}

/** Process ids by number of those that serve, the last of each number. */
export async function workerPids(gateway: RunningGateway, started: number): Promise<Map<number, number>> {
  const lines = await logged(gateway, 'worker ready', started)
  return new Map(lines.map(({ worker, pid }) => [Number(worker), Number(pid)]))
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** One connection that is kept alive, and so one worker. */
export interface Connection {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  close(): void
}

/** Opens a connection with its first request. New ones are opened as the server closes them. */
export function openConnection(gateway: RunningGateway, options: { keepAlive: boolean }): Connection {
  const agent = new Agent({ ...options, maxSockets: 1 })
  return {
    async call(method, path, body, headers = {}) {
      const sent = request(gateway.url + path, {
        agent,
        method,
        headers: {
          authorization: `Bearer ${gateway.demoKey}`,
          'content-type': 'application/json',
          ...headers,
        },
      })
      sent.end(body === undefined ? undefined : JSON.stringify(body))
      const [response] = await once(sent, 'response')
      let text = ''
      response.setEncoding('utf8')
      for await (const piece of response) text += piece
      return {
        status: response.statusCode,
        headers: new Headers(response.headers),
        body: text.startsWith('{') ? JSON.parse(text) : text,
      }
    },
    close: () => agent.destroy(),
  }
}

/** One connection to each of so many workers; tells which worker by the log. */
export async function connectToEach(
  gateway: RunningGateway,
  workers: number,
): Promise<Map<number, Connection>> {
  const found = new Map<number, Connection>()
  while (found.size < workers) {
    const connection = openConnection(gateway, { keepAlive: true })
    const { headers } = await connection.call('GET', '/healthz')
    const worker = await workerOf(gateway, headers.get('x-request-id') ?? '')
    if (found.has(worker)) connection.close()
    else found.set(worker, connection)
  }
  return found
}

/** The number of the worker that served a request. */
export async function workerOf(gateway: RunningGateway, requestId: string): Promise<number> {
  for (let times = 1; ; times++) {
    const line = (await logged(gateway, 'request', times)).find((entry) => entry.requestId === requestId)
    if (line) return Number(line.worker)
  }
}
