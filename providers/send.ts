import type { Readable } from 'node:stream'
import { type Dispatcher, Pool } from 'undici'
import type { ChatRequest } from '../core/contract/chat.ts'
import { GatewayError } from '../core/contract/errors.ts'
import type { HttpCall, Provider, Target } from '../core/contract/provider.ts'
import type { Reply } from '../core/contract/reply.ts'
import { peek } from '../core/stream/peek.ts'
import { explainNetworkError } from './network-error.ts'
import { readBatches } from './read-batches.ts'
import { readText } from './read-text.ts'
import { startWatch, type Watch } from './watch.ts'

export interface ConnectionOptions {
  /** The provider's id, as error messages name it. */
  readonly id: string
  readonly provider: Provider
  /** Such as `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly timeouts: {
    readonly connect_ms: number
    /** Until the head of a whole reply, or the first event of a stream. */
    readonly first_byte_ms: number
    /** Between two reads after that. */
    readonly idle_ms: number
  }
  /** Most sockets at a time; no limit when left out. */
  readonly connections?: number
}

/** One vendor, and the sockets that are open to it. */
export interface Connection {
  readonly id: string
  /**
   * Sends a request and awaits a whole reply, or the first events of a stream: until then every failure rejects, and
   * another target may be tried. Rejects with a `GatewayError`, or with the signal's own reason. With `queues`, a stream
   * is waited for past its time while the vendor sends comments, as those do that let requests queue.
   */
  send(request: ChatRequest, target: Target, signal: AbortSignal, queues?: boolean): Promise<Sent>
  /** Takes no more requests, and resolves when those under way have ended. */
  close(): Promise<void>
}

export interface Sent {
  readonly reply: Reply
  /** Request fields that the target cannot take and that were left out. */
  readonly omitted: readonly string[]
}

/** DeepSeek lets a request queue for so long (reference 8.3). */
const LONGEST_QUEUE_MS = 600_000

const LARGEST_REPLY = 64 * 1024 * 1024
const LARGEST_FAILURE = 64 * 1024

/** The one place that talks to vendors. */
export function createConnection(options: ConnectionOptions): Connection {
  const { id, provider, apiKey, timeouts } = options
  const { origin, pathname } = new URL(options.baseUrl)
  const basePath = pathname.replace(/\/+$/, '')
  // The watch keeps the times after connecting: undici's own cannot tell a first event from a first byte.
  const pool = new Pool(origin, {
    connections: options.connections ?? null,
    connectTimeout: timeouts.connect_ms,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  })

  async function send(
    request: ChatRequest,
    target: Target,
    signal: AbortSignal,
    queues = false,
  ): Promise<Sent> {
    signal.throwIfAborted()
    const call = provider.writeCall(request, target, apiKey)
    const watch = startWatch(id, signal, timeouts.first_byte_ms)
    try {
      const response = await post(call, watch.signal)
      if (response.statusCode < 200 || response.statusCode > 299) throw await readFailure(response, watch)
      const reply = request.stream
        ? await readStream(response, watch, queues ? LONGEST_QUEUE_MS : 0)
        : await readWhole(response.body, watch)
      return { reply, omitted: call.omitted }
    } catch (error) {
      const explained = explainNetworkError(error, id, watch.signal)
      watch.cancel(explained)
      throw explained
    }
  }

  /** Rejects as soon as the signal aborts, which undici does not do while it waits for a socket. */
  function post(call: HttpCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { headers, body } = call
    const path = basePath + call.path
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      pool.request({ method: 'POST', path, headers, body, signal }).then(resolve, reject)
    })
  }

  async function readFailure(response: Dispatcher.ResponseData, watch: Watch): Promise<GatewayError> {
    const { statusCode: status, headers } = response
    const { text } = await readText(response.body, LARGEST_FAILURE, () => watch.expect(timeouts.idle_ms))
    const body = apiKey === '' ? text : text.replaceAll(apiKey, '[redacted]')
    return provider.readFailure({ provider: id, status, headers, body })
  }

  async function readWhole(body: Readable, watch: Watch): Promise<Reply> {
    const onBytes = () => watch.expect(timeouts.idle_ms)
    onBytes()
    const { text, complete } = await readText(body, LARGEST_REPLY, onBytes)
    if (!complete) throw new GatewayError('provider_error', `${id} sent a reply that is too large.`)
    watch.end()
    return { type: 'whole', event: provider.readReply(parse(text)) }
  }

  async function readStream(
    response: Dispatcher.ResponseData,
    watch: Watch,
    queueMs: number,
  ): Promise<Reply> {
    if (!isEventStream(response)) {
      throw new GatewayError('provider_error', `${id} answered a request for a stream with something else.`)
    }
    const { idle_ms } = timeouts
    const source = readBatches(id, response.body, provider.openStream(), watch, idle_ms, queueMs)
    const batches = await peek(source)
    if (!batches) throw new GatewayError('provider_error', `${id} sent an empty stream.`)
    return { type: 'stream', batches }
  }

  function parse(text: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      // The parser's words quote the reply, and those of a reply may quote the prompt.
      throw new GatewayError('provider_error', `${id} sent a reply that is not JSON.`)
    }
  }

  return { id, send, close: () => pool.close() }
}

function isEventStream({ headers }: Dispatcher.ResponseData): boolean {
  return /^text\/event-stream\b/i.test(String(headers['content-type']))
}
