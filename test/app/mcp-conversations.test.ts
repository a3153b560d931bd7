import { once } from 'node:events'
import { Server as SessionServer } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { inputRequired, Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import {
  type SessionTestServer,
  startModernServer,
  startSessionServer,
  type TestServer,
} from '../support/mcp/servers.ts'

const TOOLS = ['ask', 'wait'].map((name) => ({ name, inputSchema: { type: 'object' as const } }))

const ASKED = {
  message: 'Name?',
  requestedSchema: {
    type: 'object' as const,
    properties: { name: { type: 'string' as const } },
    required: ['name'],
  },
}

const greet = (name: unknown) => ({ content: [{ type: 'text' as const, text: `Hello ${name}` }] })

/** Tells when a call was cancelled at the server. */
const cancelled = new EventTarget()

function waitForCancel(signal: AbortSignal): Promise<never> {
  cancelled.dispatchEvent(new Event('started'))
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      cancelled.dispatchEvent(new Event('cancelled'))
      reject(new Error('cancelled'))
    })
  })
}

function createModern(): Server {
  const server = new Server({ name: 'modern', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => ({ tools: TOOLS }))
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    if (params.name === 'wait') return waitForCancel(ctx.mcpReq.signal)
    const answer = ctx.mcpReq.inputResponses?.who as { content?: { name?: string } } | undefined
    if (answer !== undefined) return greet(answer.content?.name)
    return inputRequired({
      inputRequests: { who: { method: 'elicitation/create', params: { mode: 'form', ...ASKED } } },
    }) as never
  })
  return server
}

function createSession(): SessionServer {
  const server = new SessionServer({ name: 'session', version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: TOOLS }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, requestId }) => {
    if (params.name === 'wait') return waitForCancel(signal)
    const { content } = await server.elicitInput(ASKED, { relatedRequestId: requestId })
    return greet(content?.name)
  })
  return server
}

describe('conversations through the gateway for tools', () => {
  let gateway: RunningGateway
  let modern: TestServer
  let session: SessionTestServer

  before(async () => {
    modern = await startModernServer(createModern)
    session = await startSessionServer(createSession)
    gateway = await startToolGateway([atUrl('modern', modern.url), atUrl('session', session.url)])
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([modern.stop(), session.stop()])
  })

  for (const era of ['modern', 'session'] as const)
    for (const server of ['modern', 'session']) {
      it(`lets a ${server} server ask a ${era} client`, async () => {
        const capabilities = { elicitation: { form: {} } }
        const { client } = await connectClient(gateway, `/mcp/${server}`, era, { capabilities })
        client.setRequestHandler('elicitation/create', async ({ params }) => {
          expect(params.message).to.equal('Name?')
          return { action: 'accept', content: { name: 'Ada' } }
        })
        const { content } = await client.callTool({ name: 'ask', arguments: {} })
        expect(content).to.deep.equal([{ type: 'text', text: 'Hello Ada' }])
        await client.close()
      })

      it(`cancels a call of a ${era} client at a ${server} server`, async () => {
        const { client } = await connectClient(gateway, `/mcp/${server}`, era)
        const controller = new AbortController()
        const started = once(cancelled, 'started')
        const ended = once(cancelled, 'cancelled')
        const call = client.callTool({ name: 'wait', arguments: {} }, { signal: controller.signal })
        call.catch(() => undefined)
        await started
        controller.abort()
        await ended
        await client.close()
      })
    }

  it('opens another session at a server that has forgotten its own', async () => {
    for (const era of ['modern', 'session'] as const) {
      const { client } = await connectClient(gateway, '/mcp/session', era, ASKING)
      client.setRequestHandler('elicitation/create', async () => ({
        action: 'accept',
        content: { name: 'Ada' },
      }))
      await client.callTool({ name: 'ask', arguments: {} })
      session.forget()
      const { content } = await client.callTool({ name: 'ask', arguments: {} })
      expect(content).to.deep.equal([{ type: 'text', text: 'Hello Ada' }])
      await client.close()
    }
  })
})

const ASKING = { capabilities: { elicitation: { form: {} } } }
