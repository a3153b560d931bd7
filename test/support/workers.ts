import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { expect } from 'chai'
import type { Answer, RunningGateway } from './gateway.ts'
import { logged, waitForLines } from './gateway-log.ts'
import { newUser } from './new-user.ts'

/** The process id of each worker by number, once `started` workers have been ready, with replaced ones. */
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

/** A connection with at most one socket. A kept-alive connection is served by one worker. */
export interface Connection {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  close(): void
}

/** Connects with the first request, and again whenever the server has closed the socket. */
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

/** Opens one kept-alive connection to each worker, which the request log identifies. */
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
async function workerOf(gateway: RunningGateway, requestId: string): Promise<number> {
  const [line] = await waitForLines(gateway, (candidate) => candidate.requestId === requestId)
  return Number(line?.worker)
}

/** 64 clients of a user of the free plan get exactly the 60 responses that its rate limit allows. */
export async function expectExactLimit(gateway: RunningGateway): Promise<void> {
  const user = await newUser(gateway, 'free')
  const statuses = await Promise.all(
    Array.from({ length: 64 }, async () => {
      const connection = openConnection(gateway, { keepAlive: true })
      const answers = []
      for (let n = 0; n < 4; n++) {
        const bearer = { authorization: `Bearer ${user.key}` }
        answers.push((await connection.call('GET', '/v1/models', undefined, bearer)).status)
      }
      connection.close()
      return answers
    }),
  )
  const count = (status: number) => statuses.flat().filter((one) => one === status).length
  expect({ allowed: count(200), refused: count(429) }).to.deep.equal({ allowed: 60, refused: 196 })
}
