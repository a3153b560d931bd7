import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy that serves another server below a path, which it removes. */
export async function startPrefixProxy(prefix: string, target: string) {
  const server = createServer((incoming, response) => {
    const { method, headers, url = '' } = incoming
    if (!url.startsWith(`${prefix}/`)) {
      response.writeHead(404).end()
      return
    }
    const outgoing = request(target + url.slice(prefix.length), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
