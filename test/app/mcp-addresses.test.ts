import dns from 'node:dns'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type Answer, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { withSettings } from '../support/settings.ts'

const ALLOWED = '127.0.0.1'
const PRIVATE = '127.0.0.2'
const NAME = 'mcp.rebinding.example'

/** Loopback addresses in the forms that URLs have for them, and the address of cloud metadata. */
const LITERALS = [
  ...['127.0.0.2', '127.1.1', '0x7f000002', '2130706434', '0177.0.0.2', '127.0.0.2.'],
  ...['[::ffff:127.0.0.2]', '[::1]', '169.254.169.254', '0xa9fea9fe', '[::ffff:a9fe:a9fe]', '0'],
]

describe('names of tool servers that resolve to other addresses later', () => {
  const resolve = dns.lookup
  let gateway: RunningGateway
  let server: Server
  let port: number
  /** The addresses that each look-up of the name finds; the last ones stay. */
  let answers: string[][] = []
  /** The addresses at which requests have arrived, and those for tokens. */
  const reached = new Set<string | undefined>()
  let tokens = 0
  let created = 0

  before(async () => {
    process.env.MCP_TEST_SECRET = 'secret'
    const lookup = (name: string, options: dns.LookupAllOptions, done: (...found: unknown[]) => void) => {
      if (name !== NAME) return resolve(name, options, done as never)
      const found = answers.length > 1 ? answers.shift() : answers[0]
      done(
        null,
        (found ?? []).map((address) => ({ address, family: 4 })),
      )
    }
    dns.lookup = lookup as typeof resolve
    syncBuiltinESMExports()
    server = createServer(async (request: IncomingMessage, response) => {
      reached.add(request.socket.localAddress)
      if (request.url === '/token') tokens++
      let body = ''
      for await (const chunk of request) body += chunk
      // Each request needs another connection, and so another look-up.
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
      if (request.url === '/token') return response.end('{"access_token":"token"}')
      const { id, method } = JSON.parse(body)
      const result =
        method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : {
              resultType: 'complete',
              tools: [{ name: 'tool', inputSchema: { type: 'object' } }],
              content: [],
            }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    })
    await new Promise<void>((done) => server.listen(0, '0.0.0.0', done))
    port = (server.address() as AddressInfo).port
    const settings = `mcp: { allow_private_addresses: ['${ALLOWED}'] }\n`
    gateway = await startGateway(await withSettings(settings))
  })
  beforeEach(() => {
    reached.clear()
    tokens = 0
  })
  after(async () => {
    dns.lookup = resolve
    syncBuiltinESMExports()
    delete process.env.MCP_TEST_SECRET
    await gateway.stop()
    server.closeAllConnections()
    server.close()
  })

  const create = (fields: object): Promise<Answer> =>
    gateway.call(
      'POST',
      '/admin/tool-servers',
      { name: `s${++created}`, new_tools: 'approved', ...fields },
      AS_ADMIN,
    )
  const call = () => callToolRaw(gateway, gateway.demoKey, { server: `s${created}`, tool: 'tool' })
  const oauth = (token_url: string) => ({
    auth: { type: 'oauth', token_url, client_id: 'gateway', secret_ref: 'env:MCP_TEST_SECRET' },
  })
  const codeOf = ({ body }: Answer) => body.error?.data?.code

  it('are refused at the connection', async () => {
    answers = [[ALLOWED]]
    expect((await create({ url: `http://${NAME}:${port}/mcp` })).status).to.equal(201)
    expect((await call()).body.result).to.be.an('object')
    answers = [[PRIVATE]]
    expect(codeOf(await call())).to.equal('tool_server_unavailable')
    const refreshed = await gateway.call('GET', '/admin/tool-servers', undefined, AS_ADMIN)
    const { id } = refreshed.body.data.at(-1)
    const refresh = await gateway.call('POST', `/admin/tool-servers/${id}/refresh`, undefined, AS_ADMIN)
    expect(refresh.body.error.code).to.equal('tool_server_unavailable')
    expect([...reached]).to.deep.equal([ALLOWED])
  })

  it('get connections to the allowed ones of several addresses only', async () => {
    answers = [[PRIVATE, ALLOWED, PRIVATE]]
    await create({ url: `http://${NAME}:${port}/mcp` })
    expect((await call()).body.result).to.be.an('object')
    expect([...reached]).to.deep.equal([ALLOWED])
  })

  it('get no secret of OAuth, either', async () => {
    const fields = { url: `http://${ALLOWED}:${port}/mcp`, ...oauth(`http://${NAME}:${port}/token`) }
    answers = [[ALLOWED]]
    await create(fields)
    expect((await call()).body.result).to.be.an('object')
    expect(tokens).to.be.at.least(1)
    tokens = 0
    answers = [[PRIVATE]]
    await create(fields)
    expect(codeOf(await call())).to.equal('tool_server_unavailable')
    expect(tokens).to.equal(0)
  })

  for (const host of LITERALS)
    it(`have no other way in: ${host}`, async () => {
      for (const fields of [
        { url: `http://${host}:${port}/mcp` },
        { url: `http://${ALLOWED}:${port}/mcp`, ...oauth(`http://${host}:${port}/token`) },
      ]) {
        const { status, body } = await create(fields)
        expect(status, JSON.stringify(body)).to.equal(400)
        expect(body.error.message).to.include('private address')
      }
      expect([...reached].filter((address) => address !== ALLOWED)).to.be.empty
    })
})
