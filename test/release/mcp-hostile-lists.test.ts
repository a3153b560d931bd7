import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { atUrl, startToolGateway } from '../support/mcp/gateway.ts'
import { startHttp, type TestServer } from '../support/mcp/servers.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

const page = (items: string, more = '') => `{"resultType":"complete","prompts":[${items}]${more}}`
const deep = (levels: number) => `{"name":"a","x":${'['.repeat(levels)}${']'.repeat(levels)}}`

/** Lists of a server that is up to no good, and whether it counts as unavailable. */
const LISTS: Readonly<Record<string, { answer(pages: number): string; isRefused: boolean; most: number }>> = {
  'nested deeply': { answer: () => page(deep(100_000)), isRefused: true, most: 0 },
  'of millions of items': { answer: () => page(`${'{},'.repeat(3_000_000)}{}`), isRefused: true, most: 0 },
  'without an end': {
    answer: (pages) => page(`{"name":"p${pages}"}`, `,"nextCursor":"${pages}"`),
    isRefused: false,
    most: 100,
  },
  'of large pages without an end': {
    answer: (pages) => page(`{"name":"p","x":"${'x'.repeat(8_000_000)}"}`, `,"nextCursor":"${pages}"`),
    isRefused: true,
    most: 0,
  },
  'that are no lists': {
    answer: () => '{"resultType":"complete","prompts":{"length":1e9}}',
    isRefused: false,
    most: 0,
  },
  'of items that are no objects': { answer: () => page('null,1,"a",[],{}'), isRefused: false, most: 0 },
}

describe('a tool server with hostile lists', () => {
  let gateway: RunningGateway
  const servers: TestServer[] = []
  const pages = new Map<string, number>()

  before(async () => {
    const start = async (name: string, answer: (pages: number) => string) => {
      const server = await startHttp((_, response, body) => {
        const { id, method } = JSON.parse(body)
        const isList = method === 'prompts/list'
        if (isList) pages.set(name, (pages.get(name) ?? 0) + 1)
        const other = '{"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}}'
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(
          `{"jsonrpc":"2.0","id":"${id}","result":${isList ? answer(pages.get(name) ?? 0) : other}}`,
        )
      })
      servers.push(server)
      return server.url
    }
    const good = await start('good', () => page('{"name":"plan"}'))
    const all = await Promise.all(
      Object.values(LISTS).map(async ({ answer }, index) =>
        atUrl(`s${index}`, await start(`s${index}`, answer)),
      ),
    )
    gateway = await startToolGateway([atUrl('good', good), ...all])
  })
  after(async () => {
    await gateway.stop()
    await Promise.all(servers.map((server) => server.stop()))
  })

  const list = async (path: string) => {
    const body = { jsonrpc: '2.0', id: 1, method: 'prompts/list', params: { _meta: META } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'prompts/list' }
    return gateway.call('POST', path, body, headers)
  }

  for (const [index, [name, { isRefused, most }]] of Object.entries(LISTS).entries())
    it(`${name} harms nobody else`, async () => {
      const { status, body } = await list(`/mcp/s${index}`)
      expect(status).to.equal(200)
      if (isRefused) expect(body.error.data.code).to.match(/^tool_(server_unavailable|result_too_large)$/)
      else expect(body.result.prompts.length).to.be.at.most(most)
      expect(pages.get(`s${index}`)).to.be.at.most(100)
    })

  it('leaves the lists of others as they are', async () => {
    const { body } = await list('/mcp')
    const names = body.result.prompts.map((prompt: { name: string }) => prompt.name)
    expect(names).to.include('good__plan')
    const refused = Object.values(LISTS).flatMap(({ isRefused }, index) => (isRefused ? [`s${index}`] : []))
    expect(body.result._meta['dev.signalbox/unavailableServers']).to.have.members(refused)
  })
})
