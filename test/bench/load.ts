import { connect, type Socket } from 'node:net'
import { MessageReader } from './message-reader.ts'

/** The request to repeat. */
export interface Aim {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Several are sent in turn. */
  readonly body: string | readonly string[]
}

export interface Pressure {
  readonly connections: number
  readonly seconds: number
  /** The period over which connections are opened, in milliseconds. */
  readonly spreadMs?: number
}

/** The result of a load. Times are in milliseconds. */
export interface Load {
  readonly requests: number
  readonly failures: number
  readonly perSecond: number
  /** Time to the end of the response. */
  readonly p50: number
  readonly p95: number
  readonly p99: number
  /** Time to the first byte of the response body. */
  readonly first50: number
  readonly first99: number
  /** CPU usage of the load generator; 1 is one core. */
  readonly loadBusy: number
}

interface Notes {
  readonly ends: number[]
  readonly firsts: number[]
  failures: number
}

/** Sends requests over plain sockets, one at a time per connection, until the time is over. */
export async function load(aim: Aim, { connections, seconds, spreadMs = 0 }: Pressure): Promise<Load> {
  const notes: Notes = { ends: [], firsts: [], failures: 0 }
  const bytes = [aim.body].flat().map((body) => writeRequest(aim, body))
  let sent = 0
  const next = () => bytes[sent++ % bytes.length] as Buffer
  const { hostname, port } = new URL(aim.url)
  const cpuBefore = process.cpuUsage()
  const begun = performance.now()
  const end = begun + seconds * 1000
  const clients = Array.from({ length: connections }, async (_, index) => {
    if (spreadMs > 0) await new Promise((resolve) => setTimeout(resolve, (spreadMs * index) / connections))
    await keepAsking(connect(Number(port), hostname), next, end, notes)
  })
  await Promise.all(clients)
  const elapsed = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  const atEnd = shares(notes.ends)
  const atFirst = shares(notes.firsts)
  return {
    requests: notes.ends.length,
    failures: notes.failures,
    perSecond: notes.ends.length / elapsed,
    p50: atEnd(0.5),
    p95: atEnd(0.95),
    p99: atEnd(0.99),
    first50: atFirst(0.5),
    first99: atFirst(0.99),
    loadBusy: (user + system) / 1e6 / elapsed,
  }
}

/** Resolves when the time is over or the connection closes. Closing early counts as a failure. */
function keepAsking(socket: Socket, next: () => Buffer, end: number, notes: Notes): Promise<void> {
  const reader = new MessageReader()
  let begun = 0
  let awaitsFirst = true
  const ask = () => {
    reader.reset()
    awaitsFirst = true
    begun = performance.now()
    socket.write(next())
  }
  return new Promise((resolve) => {
    socket.setNoDelay(true)
    socket.once('connect', ask)
    socket.on('data', (bytes: Buffer) => {
      const isOver = reader.take(bytes)
      const now = performance.now()
      if (awaitsFirst && reader.bodyBytes > 0) {
        awaitsFirst = false
        notes.firsts.push(now - begun)
      }
      if (!isOver) return
      notes.ends.push(now - begun)
      if (!/^HTTP\/1\.1 20[01] /.test(reader.head)) notes.failures++
      if (now < end) return ask()
      socket.removeAllListeners('close')
      socket.end()
      resolve()
    })
    socket.on('error', () => {})
    socket.once('close', () => {
      notes.failures++
      resolve()
    })
  })
}

function writeRequest({ url, headers }: Aim, body: string): Buffer {
  const { host, pathname, search } = new URL(url)
  const lines = Object.entries({
    host,
    ...headers,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`POST ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

function shares(values: number[]): (share: number) => number {
  const sorted = Float64Array.from(values).sort()
  return (share) => sorted[Math.floor(sorted.length * share)] ?? 0
}
