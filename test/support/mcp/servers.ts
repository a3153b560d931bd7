import { randomUUID } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Server as SessionServer } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, type Server } from '@modelcontextprotocol/server'

/** A tool server of a test. */
export interface TestServer {
  readonly url: string
  /** The requests that it has received. */
  readonly requests: {
    readonly method: string
    readonly headers: http.IncomingHttpHeaders
    readonly body: string
  }[]
  stop(): Promise<void>
}

export interface SessionTestServer extends TestServer {
  /** Ends all sessions without a word. */
  forget(): void
}

type Handle = (request: http.IncomingMessage, response: http.ServerResponse, body: string) => unknown

/** Starts a server on a free port that keeps what it receives. */
export async function startHttp(handle: Handle): Promise<TestServer> {
  const requests: TestServer['requests'] = []
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    requests.push({ method: request.method ?? '', headers: request.headers, body })
    await handle(request, response, body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Starts a server of revision 2026-07-28, which refuses clients with sessions. */
export async function startModernServer(createServer: () => Server): Promise<TestServer> {
  const handler = createMcpHandler(createServer as never, { legacy: 'reject' })
  return startHttp(async (request, response, body) => {
    const controller = new AbortController()
    response.once('close', () => controller.abort())
    const answer = await handler.fetch(
      new Request(`http://${request.headers.host}${request.url}`, {
        method: request.method ?? 'GET',
        headers: request.headers as Record<string, string>,
        ...(request.method === 'POST' && { body }),
        signal: controller.signal,
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    try {
      for await (const chunk of answer.body ?? []) response.write(chunk)
    } catch {
      // The client has disconnected.
    }
    response.end()
  })
}

/** Starts a server of revision 2025-11-25 with sessions, as the SDK 1.x serves them. */
export async function startSessionServer(createServer: () => SessionServer): Promise<SessionTestServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const server = await startHttp(async (request, response, body) => {
    const id = request.headers['mcp-session-id']
    const parsed = body === '' ? undefined : JSON.parse(body)
    let transport = typeof id === 'string' ? transports.get(id) : undefined
    if (transport === undefined) {
      if (parsed?.method !== 'initialize') {
        const code = id === undefined ? 400 : 404
        const error = { code: -32_000, message: 'Bad Request: No valid session ID provided' }
        response.writeHead(code, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }))
        return
      }
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (sessionId) => void transports.set(sessionId, created),
      })
      await createServer().connect(created as never)
      transport = created
    }
    await transport.handleRequest(request, response, parsed)
  })
  return { ...server, forget: () => transports.clear() }
}
