import { mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { RunningGateway } from '../support/gateway.ts'
import { asProgram, connectClient, startToolGateway } from '../support/mcp/gateway.ts'
import { waitUntil } from '../support/wait.ts'

const require = createRequire(import.meta.url)
const binary = (name: string) =>
  path.join(path.dirname(require.resolve(`${name}/package.json`)), 'dist/index.js')

/** A server of the older revisions. Its tool does what its name says. */
const ODD = `
const respond = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const tool = (name) => ({ name, inputSchema: { type: 'object' } })
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize') {
    const serverInfo = { name: 'odd', version: '1' }
    respond({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
  } else if (method === 'tools/list')
    respond({ id, result: { tools: ['flood', 'noise', 'end', 'variables', 'pid'].map(tool) } })
  else if (method === 'tools/call') {
    const text = (text) => respond({ id, result: { content: [{ type: 'text', text }] } })
    if (params.name === 'end') process.exit(3)
    if (params.name === 'variables') text(Object.keys(process.env).sort().join())
    if (params.name === 'pid') text(String(process.pid))
    if (params.name === 'flood') text('x'.repeat(3_000_000))
    if (params.name === 'noise') {
      process.stdout.write('no message\\n{}\\n[1]\\n')
      process.stderr.write('noise\\n'.repeat(200_000), () => text('heard'))
    }
  } else if (id !== undefined) respond({ id, error: { code: -32601, message: 'Method not found' } })
})`

describe('programs behind the gateway for tools', () => {
  let gateway: RunningGateway
  let folder: string

  before(async () => {
    process.env.MCP_ODD_SECRET = 'a secret'
    process.env.MCP_UNLISTED = 'not for programs'
    folder = await realpath(await mkdtemp(path.join(tmpdir(), 'tools-')))
    await writeFile(path.join(folder, 'a.txt'), 'the content')
    const node = process.execPath
    gateway = await startToolGateway(
      [
        asProgram('everything', [node, binary('@modelcontextprotocol/server-everything'), 'stdio']),
        asProgram('files', [node, binary('@modelcontextprotocol/server-filesystem'), folder]),
        asProgram('odd', [node, '-e', ODD], { env: { OWN: 'a text', SECRET: 'env:MCP_ODD_SECRET' } }),
        asProgram('missing', ['/nowhere/program']),
      ],
      'mcp: { limits: { max_program_result_bytes: 2000000 } }\n',
    )
  })
  after(() => gateway.stop())

  const callOdd = async (name: string) => {
    const { client } = await connectClient(gateway, '/mcp/odd', 'modern')
    try {
      const { content } = await client.callTool({ name, arguments: {} })
      return (content as { text: string }[])[0]?.text
    } finally {
      await client.close()
    }
  }

  for (const era of ['modern', 'session'] as const)
    it(`serves the reference servers to ${era} clients`, async () => {
      const everything = await connectClient(gateway, '/mcp/everything', era)
      const { content } = await everything.client.callTool({ name: 'echo', arguments: { message: 'hi' } })
      expect(JSON.stringify(content)).to.include('Echo: hi')
      const { prompts } = await everything.client.listPrompts()
      expect(prompts).to.not.be.empty
      const { resources } = await everything.client.listResources()
      const { contents } = await everything.client.readResource({ uri: resources[0]?.uri ?? '' })
      expect(contents).to.have.length(1)
      await everything.client.close()
      const files = await connectClient(gateway, '/mcp/files', era)
      const read = await files.client.callTool({
        name: 'read_text_file',
        arguments: { path: path.join(folder, 'a.txt') },
      })
      expect(JSON.stringify(read.content)).to.include('the content')
      await files.client.close()
    })

  it('gives a program its own variables and few of the gateway', async () => {
    const names = (await callOdd('variables'))?.split(',') ?? []
    expect(names).to.include.members(['OWN', 'SECRET', 'PATH']).and.not.include('MCP_UNLISTED')
  })

  it('logs some of what a program writes to stderr, and ignores lines that are no messages', async () => {
    expect(await callOdd('noise')).to.equal('heard')
    const lines = gateway.stderr().split('\n')
    const logged = lines.filter((line) => line.includes('noise') && line.includes('tool server wrote')).length
    expect(logged).to.be.within(1, 20)
  })

  it('refuses a result that is too large, and serves the next call', async () => {
    const error = await callOdd('flood').catch((thrown: Error) => thrown)
    expect(String(error)).to.match(/more than 2000000 bytes/)
    expect(await callOdd('pid')).to.match(/^\d+$/)
  })

  it('fails the calls of a program that ends, and starts it again', async () => {
    const first = await callOdd('pid')
    expect(String(await callOdd('end').catch((thrown: Error) => thrown))).to.match(/has ended/)
    await waitUntil(() => callOdd('pid').catch(() => undefined))
    expect(await callOdd('pid')).to.not.equal(first)
  })

  it('says that a program cannot be started', async () => {
    const failed = await connectClient(gateway, '/mcp/missing', 'session').catch((error: Error) => error)
    expect(String(failed)).to.match(/missing/)
  })

  it('ends programs with the gateway', async () => {
    const own = await startToolGateway([asProgram('odd', [process.execPath, '-e', ODD])])
    const { client } = await connectClient(own, '/mcp/odd', 'modern')
    const { content } = await client.callTool({ name: 'pid', arguments: {} })
    const pid = Number((content as { text: string }[])[0]?.text)
    await client.close()
    await own.stop()
    expect(() => process.kill(pid, 0)).to.throw('ESRCH')
  })
})
