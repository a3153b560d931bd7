import { createParser } from 'eventsource-parser'
import { Client, type Dispatcher, Pool } from 'undici'

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by checks
export type Loose = any

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly key?: string
  /** Strings are sent unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Uses the direct-routing address. */
  readonly direct?: boolean
  /** Uses a new connection, which closes after the response. */
  readonly fresh?: boolean
  readonly signal?: AbortSignal
}

/** The head of a response. */
interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly requestId: string
}

/** A complete response. `body` is undefined if it is not JSON. */
export interface Got extends Head {
  readonly text: string
  readonly body: Loose
}

/** A response whose body has not been read. */
export interface Opened extends Head {
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface SseRecord {
  readonly event: string | undefined
  readonly data: string
}

/** Sends requests to the gateway. */
export interface HttpClient {
  open(ask: Ask): Promise<Opened>
  ask(ask: Ask): Promise<Got>
  close(): Promise<void>
}

export interface Addresses {
  readonly url: string
  readonly routeUrl: string
}

/** Exceeds the time that the gateway may take between two bytes of a response. */
const PATIENCE_MS = 30_000

/** `connections` limits the connections. With one, all requests reach the same worker. */
export function createClient({ url, routeUrl }: Addresses, connections: number | null = null): HttpClient {
  const limits = { headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS }
  const main = new Pool(url, { ...limits, connections })
  const direct = new Pool(routeUrl, { ...limits, connections })

  async function open(ask: Ask): Promise<Opened> {
    if (!ask.fresh) return send(ask.direct ? direct : main, ask)
    const own = new Client(ask.direct ? routeUrl : url, limits)
    try {
      return await send(own, ask)
    } finally {
      // Waits until the response is read.
      void own.close().catch(() => undefined)
    }
  }

  return {
    open,
    async ask(ask) {
      const { bytes, ...head } = await open(ask)
      const text = await readText(bytes)
      return {
        ...head,
        text,
        body: head.headers['content-type']?.includes('json') ? JSON.parse(text) : undefined,
      }
    },
    async close() {
      await Promise.all([main.destroy(), direct.destroy()])
    },
  }
}

async function send(
  dispatcher: Dispatcher,
  { method, path, key, body, headers, fresh, signal }: Ask,
): Promise<Opened> {
  const response = await dispatcher.request({
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    path,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    ...(fresh && { reset: true }),
    ...(signal && { signal }),
  })
  const heads = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
  const all: Readonly<Record<string, string>> = Object.fromEntries(heads)
  return {
    status: response.statusCode,
    headers: all,
    requestId: all['x-request-id'] ?? '',
    bytes: response.body,
  }
}

export async function readText(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** The records of an SSE body. */
export async function* readRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<SseRecord> {
  let records: SseRecord[] = []
  const parser = createParser({ onEvent: ({ event, data }) => records.push({ event, data }) })
  const decoder = new TextDecoder()
  for await (const piece of bytes) {
    parser.feed(decoder.decode(piece, { stream: true }))
    yield* records
    records = []
  }
}
