/** A tool server without sessions, on node:http: it has one tool, which answers at once. */
import http from 'node:http'

const RESULTS: Readonly<Record<string, object>> = {
  'server/discover': {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'bench', version: '1' } },
  },
  'tools/list': {
    resultType: 'complete',
    tools: [{ name: 'read_file', inputSchema: { type: 'object' } }],
    ttlMs: 600_000,
    cacheScope: 'public',
  },
  'tools/call': { resultType: 'complete', content: [{ type: 'text', text: 'The file has 12 lines.' }] },
}

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: unknown; method: string }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? {} }))
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}\n`)
})
