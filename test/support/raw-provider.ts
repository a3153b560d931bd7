import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A request as it arrived on a connection. */
export interface RawRequest {
  readonly socket: Socket
  /** The number of the connection, from 0. */
  readonly connection: number
  /** The number of the request on its connection, from 0. */
  readonly index: number
  readonly head: string
  // biome-ignore lint/suspicious/noExplicitAny: a body of any format
  readonly body: any
}

/** A provider that writes bytes on its connections, which may be no proper HTTP. */
export interface RawProvider {
  /** For `OPENAI_BASE_URL`. */
  readonly url: string
  /** All connections so far. */
  readonly sockets: readonly Socket[]
  /** Sets how requests are answered, and forgets all connections. */
  respond(answer: (request: RawRequest) => void, onConnect?: (socket: Socket) => void): void
  close(): void
}

export async function startRawProvider(): Promise<RawProvider> {
  let answer: (request: RawRequest) => void = () => undefined
  let greet: (socket: Socket) => void = () => undefined
  const sockets: Socket[] = []
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = sockets.push(socket) - 1
    socket.on('error', () => undefined)
    greet(socket)
    let received = Buffer.alloc(0)
    let index = 0
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (let end = received.indexOf('\r\n\r\n'); end !== -1; end = received.indexOf('\r\n\r\n')) {
        const head = received.toString('latin1', 0, end)
        const length = Number(/^content-length: (\d+)/im.exec(head)?.[1])
        const bodyStart = end + 4
        if (received.length < bodyStart + length) return
        const body = JSON.parse(received.toString('utf8', bodyStart, bodyStart + length))
        received = received.subarray(bodyStart + length)
        answer({ socket, connection, index, head, body })
        index += 1
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sockets,
    respond(next, onConnect = () => undefined) {
      for (const socket of sockets.splice(0)) socket.destroy()
      answer = next
      greet = onConnect
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A response with this body, as bytes. */
export function rawResponse(body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Buffer {
  const bytes = Buffer.from(body)
  const lines = Object.entries({
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${lines.join('')}\r\n`), bytes])
}
