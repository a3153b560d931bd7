import { createParser } from 'eventsource-parser'
import { Client, type Dispatcher, Pool } from 'undici'

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by checks
export type Loose = any

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly key?: string
  /** Sent as it stands when it is a text. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** On the direct-routing address. */
  readonly direct?: boolean
  /** On a connection of its own that ends with the answer. */
  readonly fresh?: boolean
  readonly signal?: AbortSignal
}

/** The head of an answer. */
interface Head {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly requestId: string
}

/** A whole answer; `body` is undefined where it is not JSON. */
export interface Got extends Head {
  readonly text: string
  readonly body: Loose
}

/** An answer whose body is still to be read. */
export interface Opened extends Head {
  readonly bytes: AsyncIterable<Uint8Array>
}

export interface SseRecord {
  readonly event: string | undefined
  readonly data: string
}

/** Somebody who sends requests to the gateway, wherever it is now. */
export interface HttpClient {
  open(ask: Ask): Promise<Opened>
  ask(ask: Ask): Promise<Got>
  close(): Promise<void>
}

export interface Addresses {
  readonly url: string
  readonly routeUrl: string
}

/** No answer of the gateway takes so long between two bytes. */
const PATIENCE_MS = 30_000

/** `connections` bounds the sockets that are kept alive; one makes all requests meet the same worker. */
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
      // Waits for the answer to be read.
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
