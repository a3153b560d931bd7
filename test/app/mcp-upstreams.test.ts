import { once } from 'node:events'
import { Server as SessionServer } from '@modelcontextprotocol/sdk/server/index.js'
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { atUrl, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import {
  type SessionTestServer,
  startHttp,
  startSessionServer,
  type TestServer,
} from '../support/mcp/servers.ts'
import { waitUntil } from '../support/wait.ts'

describe('how the gateway for tools reaches servers', () => {
  let gateway: RunningGateway
  let tokens: TestServer
  let guarded: TestServer
  let listing: SessionTestServer
  let issued = 0
  let accepted = 'token-1'
  const tools = ['first']
  const created: SessionServer[] = []

  before(async () => {
    process.env.MCP_TEST_SECRET = 'the secret'
    tokens = await startHttp((_, response) => {
      issued++
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ access_token: `token-${issued}`, expires_in: 3600 }))
    })
    guarded = await startHttp(({ headers }, response, body) => {
      if (headers.authorization !== `Bearer ${accepted}` && headers['x-key'] !== 'the secret') {
        response.writeHead(401).end()
        return
      }
      const { id, method } = JSON.parse(body)
      const result =
        method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : {
              resultType: 'complete',
              tools: [{ name: 'tool', inputSchema: { type: 'object' } }],
              content: [],
            }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    listing = await startSessionServer(() => {
      const server = new SessionServer(
        { name: 'listing', version: '1' },
        { capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } } },
      )
      server.setRequestHandler(ListToolsRequestSchema, async () => ({
        tools: tools.map((name) => ({ name, inputSchema: { type: 'object' as const } })),
      }))
      created.push(server)
      return server
    })
    const secret = { secretRef: 'env:MCP_TEST_SECRET' }
    const oauth = { type: 'oauth', tokenUrl: tokens.url, clientId: 'gateway', scope: 'tools', ...secret }
    gateway = await startToolGateway([
      atUrl('oauth', guarded.url, oauth),
      atUrl('user', guarded.url, { ...oauth, onBehalfOf: 'user' }),
      atUrl('header', guarded.url, { type: 'header', header: 'X-Key', ...secret }),
      atUrl('wrong', guarded.url, { type: 'bearer', ...secret }),
      atUrl('unset', guarded.url, { type: 'bearer', secretRef: 'env:MCP_TEST_UNSET' }),
      atUrl('listing', listing.url),
    ])
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([tokens.stop(), guarded.stop(), listing.stop()])
  })

  const call = async (server: string) => {
    try {
      const { client } = await connectClient(gateway, `/mcp/${server}`, 'session')
      return await client.callTool({ name: 'tool', arguments: {} })
    } catch (error) {
      return String(error)
    }
  }

  it('gets a token by client credentials, keeps it, and gets another one when it is refused', async () => {
    expect(await call('oauth')).to.deep.include({ content: [] })
    expect(await call('oauth')).to.deep.include({ content: [] })
    expect(tokens.requests).to.have.length(1)
    expect(Object.fromEntries(new URLSearchParams(tokens.requests[0]?.body))).to.deep.equal({
      grant_type: 'client_credentials',
      client_id: 'gateway',
      client_secret: 'the secret',
      scope: 'tools',
    })
    accepted = 'token-2'
    expect(await call('oauth')).to.deep.include({ content: [] })
    expect(tokens.requests).to.have.length(2)
  })

  it('does not offer subscriptions to resources, which it does not serve', async () => {
    for (const path of ['/mcp/listing', '/mcp']) {
      const { client } = await connectClient(gateway, path, 'session')
      expect(client.getServerCapabilities()?.resources).to.deep.equal({ listChanged: true })
      const refused = await client.request({ method: 'resources/subscribe', params: { uri: 'a:b' } }).then(
        () => undefined,
        (error) => error.code,
      )
      expect(refused).to.equal(-32601)
      await client.close()
    }
  })

  it('sends a key in a header, and says what is wrong with credentials without showing them', async () => {
    expect(await call('header')).to.deep.include({ content: [] })
    for (const [server, reason] of [
      ['wrong', 'refused the credentials'],
      ['unset', 'secret of the tool server unset is missing'],
      ['user', 'acts on behalf of users'],
    ] as const) {
      const refused = await call(server)
      expect(refused).to.include(reason)
      expect(refused).to.not.include('the secret')
    }
    expect(gateway.stderr()).to.not.include('the secret')
  })

  for (const era of ['modern', 'session'] as const)
    it(`tells ${era} clients that a list has changed, and lists anew`, async () => {
      const { client } = await connectClient(gateway, '/mcp/listing', era)
      const changed = new EventTarget()
      client.setNotificationHandler('notifications/tools/list_changed', () => {
        changed.dispatchEvent(new Event('tools'))
      })
      if (era === 'modern') await client.listen({ toolsListChanged: true })
      await client.listTools()
      // The gateway listens to the server by then.
      await waitUntil(() => listing.requests.some(({ method }) => method === 'GET'))
      const told = once(changed, 'tools')
      tools.push(era)
      for (const server of created) await server.sendToolListChanged().catch(() => undefined)
      await told
      const { tools: listed } = await client.listTools()
      expect(listed.map(({ name }) => name)).to.deep.equal(tools)
      await client.close()
    })
})
