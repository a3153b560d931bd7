import { Server as SessionServer } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { atUrl, type ClientEra, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { startModernServer, startSessionServer, type TestServer } from '../support/mcp/servers.ts'

const TOOLS = [
  {
    name: 'add',
    description: 'Adds.',
    inputSchema: { type: 'object' as const, properties: { a: { type: 'number' }, b: { type: 'number' } } },
  },
  { name: 'slow', description: 'Reports progress.', inputSchema: { type: 'object' as const } },
]

const sumOf = ({ a, b }: { a?: number; b?: number } = {}) => ({
  content: [{ type: 'text' as const, text: String((a ?? 0) + (b ?? 0)) }],
})

function createModern(): Server {
  const server = new Server({ name: 'modern', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const progressToken = params._meta?.progressToken
    if (params.name === 'slow' && progressToken !== undefined)
      for (const progress of [1, 2])
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 2 },
        })
    return sumOf(params.arguments)
  })
  return server
}

function createSession(): SessionServer {
  const server = new SessionServer({ name: 'session', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: TOOLS }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const progressToken = params._meta?.progressToken
    if (params.name === 'slow' && progressToken !== undefined)
      for (const progress of [1, 2])
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 2 },
        })
    return sumOf(params.arguments)
  })
  return server
}

describe('the gateway for tools', () => {
  let gateway: RunningGateway
  let modern: TestServer
  let session: TestServer

  before(async () => {
    modern = await startModernServer(createModern)
    session = await startSessionServer(createSession)
    gateway = await startToolGateway([atUrl('modern', modern.url), atUrl('session', session.url)])
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([modern.stop(), session.stop()])
  })

  for (const era of ['modern', 'session'] as const satisfies readonly ClientEra[])
    for (const server of ['modern', 'session']) {
      it(`lets clients of the ${era} era call tools of servers of the ${server} era`, async () => {
        const { client } = await connectClient(gateway, `/mcp/${server}`, era)
        const { tools } = await client.listTools()
        expect(tools.map(({ name }) => name)).to.deep.equal(['add', 'slow'])
        const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
        expect(content).to.deep.equal([{ type: 'text', text: '3' }])
        await client.close()
      })

      it(`passes on progress from a ${server} server to a ${era} client`, async () => {
        const { client } = await connectClient(gateway, `/mcp/${server}`, era)
        const seen: number[] = []
        await client.callTool(
          { name: 'slow', arguments: {} },
          { onprogress: ({ progress }) => seen.push(progress) },
        )
        expect(seen).to.deep.equal([1, 2])
        await client.close()
      })
    }

  for (const era of ['modern', 'session'] as const) {
    it(`serves the tools of all servers at /mcp to ${era} clients`, async () => {
      const { client } = await connectClient(gateway, '/mcp', era)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).to.deep.equal([
        ...['modern__add', 'modern__slow', 'session__add', 'session__slow'],
      ])
      for (const name of ['modern__add', 'session__add']) {
        const { content } = await client.callTool({ name, arguments: { a: 20, b: 2 } })
        expect(content).to.deep.equal([{ type: 'text', text: '22' }])
      }
      await client.close()
    })
  }
})
