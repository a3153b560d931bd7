import { json } from 'node:stream/consumers'
import Koa from 'koa'
import type { JsonObject } from '../../core/contract/index.ts'
import { type Listener, listen } from '../../core/http/server/hardened-server.ts'
import { MODERN_REVISION } from '../../plugins/mcp/protocol.ts'
import { DEMO_TOOL_SERVERS, type DemoToolServer, listDemoTools } from './tool-servers.ts'

export const TOOL_SERVERS_HOST = '127.0.0.1'

/** Serves the tool servers of the demo by MCP, each at the path of its name. Calls change nothing. */
export function startDemoToolServers(): Promise<Listener> {
  const app = new Koa()
  app.silent = true
  app.use(async (ctx) => {
    const server = DEMO_TOOL_SERVERS.find(({ name }) => ctx.path === `/${name}`)
    if (server === undefined || ctx.method !== 'POST') {
      ctx.status = server === undefined ? 404 : 405
      return
    }
    // The cast is safe: only gateways know the address.
    const { id, method, params } = (await json(ctx.req)) as RpcMessage
    if (id === undefined) ctx.status = 202
    else ctx.body = { jsonrpc: '2.0', id, ...respond(server, method, params) }
  })
  return listen(app, TOOL_SERVERS_HOST, 0)
}

interface RpcMessage {
  /** Missing in notifications. */
  readonly id?: string | number
  readonly method: string
  readonly params?: JsonObject
}

function respond(server: DemoToolServer, method: string, params: JsonObject = {}): JsonObject {
  if (method === 'initialize') {
    const serverInfo = { name: server.name, version: 'demo' }
    return {
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
    }
  }
  if (method === 'tools/list') return { result: { tools: listDemoTools(server, true) } }
  if (method === 'tools/call') {
    const text = `${params.name} of the demo was called. Nothing has happened.`
    return { result: { content: [{ type: 'text', text }] } }
  }
  return method === 'ping' ? { result: {} } : { error: { code: -32601, message: `No method ${method}` } }
}

/**
 * Calls a tool of the gateway that an operator must approve, so that a call waits with its arguments, which
 * are in no event. If it fails, none waits.
 */
export async function askForApproval(baseUrl: string, key: string): Promise<void> {
  const name = 'merge_pull_request'
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN_REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name, arguments: { number: 1466 }, _meta }
  await fetch(`${baseUrl}/mcp/repository`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN_REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  }).then(
    (response) => response.text(),
    () => undefined,
  )
}
