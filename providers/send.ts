import { Pool } from 'undici'
import type { ChatRequest } from '../core/contract/chat.ts'
import { GatewayError } from '../core/contract/errors.ts'
import type { Presence } from '../core/contract/presence.ts'
import type { Provider, Target } from '../core/contract/provider.ts'
import type { Reply } from '../core/contract/reply.ts'
import { peek } from '../core/stream/peek.ts'
import { explainNetworkError } from './network-error.ts'
import { type Head, Post, type Whole } from './post.ts'
import { readBatches } from './read-batches.ts'
import { Watch } from './watch.ts'

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
   * another target may be tried. Rejects with a `GatewayError`, or with the reason why the client left. With `queues`, a stream
   * is waited for past its time while the vendor sends comments, as those do that let requests queue.
   */
  send(request: ChatRequest, target: Target, client: Presence, queues?: boolean): Promise<Sent>
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

  async function send(request: ChatRequest, target: Target, client: Presence, queues = false): Promise<Sent> {
    const { path, headers, body, omitted } = provider.writeCall(request, target, apiKey)
    let post: Post | undefined
    const watch = new Watch(id, client, timeouts.first_byte_ms, (reason) => post?.breakOff(reason))
    try {
      if (watch.brokenOff !== undefined) throw watch.brokenOff.reason
      post = new Post(pool, { method: 'POST', path: basePath + path, headers, body })
      const reply = request.stream
        ? await readStream(post, watch, queues ? LONGEST_QUEUE_MS : 0)
        : readReply(await readWhole(post, watch), watch)
      return { reply, omitted }
    } catch (error) {
      watch.end()
      post?.breakOff(error)
      throw explainNetworkError(error, id, watch.brokenOff)
    }
  }

  function readWhole(post: Post, watch: Watch): Promise<Whole> {
    return post.readWhole(limitOf, () => watch.expect(timeouts.idle_ms))
  }

  function readFailure({ head, text }: Whole): GatewayError {
    const { status, headers } = head
    const body = apiKey === '' ? text : text.replaceAll(apiKey, '[redacted]')
    return provider.readFailure({ provider: id, status, headers, body })
  }

  function readReply(whole: Whole, watch: Watch): Reply {
    if (isFailure(whole.head)) throw readFailure(whole)
    if (!whole.complete) throw new GatewayError('provider_error', `${id} sent a reply that is too large.`)
    watch.end()
    const body = parse(whole.text)
    const event = provider.readReply(body)
    const { parts, native } = event
    const isSource = native !== undefined && native === body
    return { type: 'whole', event: isSource ? { parts, native, source: whole.text } : event }
  }

  async function readStream(post: Post, watch: Watch, queueMs: number): Promise<Reply> {
    const head = await post.head()
    if (isFailure(head)) throw readFailure(await readWhole(post, watch))
    if (!isEventStream(head)) {
      throw new GatewayError('provider_error', `${id} answered a request for a stream with something else.`)
    }
    const { idle_ms } = timeouts
    const source = readBatches(id, post, provider.openStream(), watch, idle_ms, queueMs)
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

function isFailure({ status }: Head): boolean {
  return status > 299
}

function limitOf(head: Head): number {
  return isFailure(head) ? LARGEST_FAILURE : LARGEST_REPLY
}

function isEventStream({ headers }: Head): boolean {
  return /^text\/event-stream\b/i.test(String(headers['content-type']))
}
