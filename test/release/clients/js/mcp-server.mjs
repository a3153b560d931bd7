// An MCP server on standard input and output with one tool. An argument is its name.
import { createInterface } from 'node:readline'

const LOOKUP = {
  name: process.argv[2] ?? 'lookup',
  description: 'Looks up a page of the handbook.',
  inputSchema: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
}

function answer(method, params) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'handbook', version: '1.0.0' },
      }
    case 'tools/list':
      return { tools: [LOOKUP] }
    case 'tools/call':
      return { content: [{ type: 'text', text: `Page ${params.arguments.page} says hello` }] }
    default:
      return {}
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  // Notifications have no id, and get no answer.
  if (id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) })}\n`)
}
