/**
 * Runs a test server as a process of its own: one node, or a cluster with `serve cluster`. Prints a line of
 * JSON with its connection string and the URL at which it is controlled by `POST /ACTION/ARGUMENT`.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type StoreUnderTest, startCluster, startNode } from './store-under-test.ts'

const store = process.argv[2] === 'cluster' ? await startCluster() : await startNode()

type Action = Exclude<keyof StoreUnderTest, 'connectionString'>

const server = createServer(async ({ url = '/' }, response) => {
  const [, action = '', argument = ''] = url.split('/')
  try {
    // Safe: an action that does not exist fails the request.
    const run = store[action as Action] as (argument: number | string) => Promise<number | undefined>
    const result = await run(/^\d+$/.test(argument) ? Number(argument) : argument)
    response.end(String(result ?? ''))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const { connectionString } = store
process.stdout.write(`${JSON.stringify({ connectionString, control: `http://127.0.0.1:${port}` })}\n`)
