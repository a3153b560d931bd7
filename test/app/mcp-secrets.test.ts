import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { expect } from 'chai'
import { AS_ADMIN, type RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'

const SECRET = 'a-secret-of-a-tool-server-7f3a'
const TOKEN = 'an-access-token-91bc'
const PASSED = 'a-credential-of-the-caller-55e1'

type Reply = (response: ServerResponse) => unknown

const json = (status: number, body: object) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** What servers do that refuse their credentials. They repeat them where they can. */
const REFUSALS: Readonly<Record<string, Reply>> = {
  'with 401': (response) =>
    response
      .writeHead(401, { 'www-authenticate': `Bearer error="${SECRET} ${TOKEN} ${PASSED}"` })
      .end(SECRET),
  'with 403': json(403, { error: `${SECRET} ${TOKEN} ${PASSED}` }),
  'with 500': json(500, { error: `${SECRET} ${TOKEN} ${PASSED}` }),
  'with a redirect': (response) => response.writeHead(302, { location: `/?key=${SECRET}` }).end(),
  'with no JSON': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(SECRET),
  'with another type': (response) =>
    response.writeHead(200, { 'content-type': `text/${SECRET}` }).end(SECRET),
  'with a closed connection': (response) => response.destroy(),
}

/** What token endpoints do that give no token. */
const TOKEN_REFUSALS: Readonly<Record<string, Reply>> = {
  ...REFUSALS,
  'with an error that has the secret': json(400, { error: SECRET, error_description: SECRET }),
  'with a description that has the secret': json(401, { error: 'invalid_client', error_description: SECRET }),
  'with a token that is no header': json(200, { access_token: `${TOKEN}\r\nx: y` }),
  'with a token of another type': json(200, { access_token: { value: SECRET } }),
}

describe('the secrets of tool servers', () => {
  let gateway: RunningGateway
  let good: TestServer
  const servers: TestServer[] = []
  const names: string[] = []

  before(async () => {
    process.env.MCP_TEST_SECRET = SECRET
    process.env.MCP_TEST_BROKEN = `${SECRET}\r\nx: y`
    const start = async (reply: Reply) => {
      const server = await startHttp((_, response) => reply(response))
      servers.push(server)
      return server.url
    }
    good = await startHttp((_, response, body) => {
      const { id, method } = JSON.parse(body)
      const result =
        method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : { resultType: 'complete', tools: [{ name: 'tool', inputSchema: {} }], content: [] }
      json(200, { jsonrpc: '2.0', id, result })(response)
    })
    servers.push(good)
    const tokens = await start(json(200, { access_token: TOKEN }))
    const unused = createServer()
    await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve))
    const { port } = unused.address() as { port: number }
    await new Promise((resolve) => unused.close(resolve))
    const nowhere = `http://127.0.0.1:${port}/mcp`

    const secretRef = 'env:MCP_TEST_SECRET'
    const oauth = { type: 'oauth', tokenUrl: tokens, clientId: 'gateway', secretRef }
    const auths = [
      { type: 'bearer', secretRef },
      { type: 'header', header: 'x-key', secretRef },
      oauth,
      { type: 'passthrough' },
      { type: 'bearer', secretRef: 'env:MCP_TEST_BROKEN' },
      { type: 'header', header: 'x-key', secretRef: 'env:MCP_TEST_BROKEN' },
    ]
    const targets: [url: string, auth: object][] = []
    const badUrls = await Promise.all(Object.values(REFUSALS).map(start))
    const urls = [good.url, nowhere, good.url.replace('http:', 'https:'), 'http://no.invalid/', ...badUrls]
    for (const url of urls) for (const auth of auths) targets.push([url, auth])
    const badTokens = await Promise.all(Object.values(TOKEN_REFUSALS).map(start))
    for (const tokenUrl of [nowhere, good.url.replace('http:', 'https:'), 'http://no.invalid/', ...badTokens])
      targets.push([good.url, { ...oauth, tokenUrl }])
    const listed = targets.map(([url, auth], index) => atUrl(`s${index}`, url, auth))
    names.push(...listed.map(({ name }) => name))
    gateway = await startToolGateway(listed, 'log_level: trace\n')
  })
  after(async () => {
    delete process.env.MCP_TEST_SECRET
    delete process.env.MCP_TEST_BROKEN
    await gateway.stop()
    await Promise.all(servers.map((server) => server.stop()))
  })

  it('are in no answer, log, record, event or metric, whatever the server does', async () => {
    const texts: string[] = []
    for (const server of names) {
      const headers = { 'x-mcp-authorization': `Bearer ${PASSED}` }
      const {
        status,
        headers: answered,
        body,
      } = await callToolRaw(gateway, gateway.demoKey, { server, tool: 'tool' }, headers)
      texts.push(`${server} ${status} ${JSON.stringify([...answered])} ${JSON.stringify(body)}`)
    }
    // Some have succeeded, and the good server has got every secret.
    expect(texts.filter((text) => text.includes('"result"'))).to.have.length.at.least(4)
    const received = JSON.stringify(good.requests.map(({ headers }) => headers))
    for (const secret of [SECRET, TOKEN, PASSED]) expect(received).to.include(secret)

    for (const path of ['/admin/tool-calls?limit=100', '/admin/audit?limit=100', '/admin/tool-servers'])
      texts.push(JSON.stringify((await gateway.call('GET', path, undefined, AS_ADMIN)).body))
    const metrics = await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })
    texts.push(await metrics.text(), gateway.stderr())
    for (const text of texts)
      for (const secret of [SECRET, TOKEN, PASSED]) expect(text.includes(secret), text).to.equal(false)
  })
})
