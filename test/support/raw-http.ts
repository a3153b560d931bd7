import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection to a gateway, to write on as no client would. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Everything that comes until the other side closes, or resets the connection without reading everything. */
export async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  socket.on('data', (bytes) => {
    text += bytes
  })
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return text
}

/** Sends the bytes as they are; gives what comes back until the gateway closes the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const socket = await openSocket(url)
  socket.write(bytes, 'latin1')
  return readToEnd(socket)
}

export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** The answers in what came back, of which each has a length. */
export function splitAnswers(text: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = new Map(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]))
    const length = Number(new Map([...headers].map(([k, v]) => [k.toLowerCase(), v])).get('content-length'))
    if (end === -1 || Number.isNaN(length)) throw new Error(`this is not an answer with a length:\n${rest}`)
    const start = end + '\r\n\r\n'.length
    answers.push({ status: Number(first.split(' ')[1]), headers, body: rest.slice(start, start + length) })
    rest = rest.slice(start + length)
  }
  return answers
}
