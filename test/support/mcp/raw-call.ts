import type { Answer, RunningGateway } from '../gateway.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Calls a tool of a server without a client: revision 2026-07-28 needs no session. */
export function callToolRaw(
  gateway: Pick<RunningGateway, 'call'>,
  key: string,
  { server, tool, arguments: args = {} }: { server: string; tool: string; arguments?: object },
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const params = { name: tool, arguments: args, _meta: META }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  return gateway.call('POST', `/mcp/${server}`, body, {
    authorization: `Bearer ${key}`,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': tool,
    ...headers,
  })
}
