import { Pool } from 'undici'
import type { ChatRequest, Reply } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { ClientConnection } from '../../core/contract/exchange.ts'
import type { ProviderAdapter, Target } from '../../core/contract/provider.ts'
import { peek, readBatches } from './batches.ts'
import { CallDeadline } from './call-deadline.ts'
import type { Capabilities } from './catalog.ts'
import { ProviderCall, type ResponseHead, toNetworkError, type WholeResponse } from './http.ts'

interface ProviderClientOptions {
  /** The provider's id, as error messages name it. */
  readonly id: string
  readonly adapter: ProviderAdapter
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

/** One provider, and the sockets that are open to it. */
export interface ProviderClient {
  readonly id: string
  /**
   * Sends a request and awaits a whole reply, or the first events of a stream: until then every failure rejects, and
   * another target may be tried. Rejects with a `GatewayError`, or with the reason why the client left. With `queues`, a stream
   * is waited for past its time while the provider sends comments, as those do that let requests queue.
   */
  send(request: ChatRequest, target: Target, client: ClientConnection, queues?: boolean): Promise<SentRequest>
  /** Takes no more requests, and resolves when those under way have ended. */
  close(): Promise<void>
}

export interface SentRequest {
  readonly reply: Reply
  /** Request fields that the target cannot take and that were left out. */
  readonly omitted: readonly string[]
}

/** DeepSeek lets a request queue for so long (docs/providers.md, "DeepSeek replies and streams"). */
const MAX_QUEUE_MS = 600_000

const MAX_REPLY_BYTES = 64 * 1024 * 1024
const MAX_ERROR_BYTES = 64 * 1024

/** The one place that talks to providers. */
export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  const { id, adapter, apiKey, timeouts } = options
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
    client: ClientConnection,
    queues = false,
  ): Promise<SentRequest> {
    const { path, headers, body, omitted } = adapter.buildRequest(request, target, apiKey)
    let post: ProviderCall | undefined
    const watch = new CallDeadline(id, client, timeouts.first_byte_ms, (reason) => post?.abort(reason))
    try {
      if (watch.aborted !== undefined) throw watch.aborted.reason
      post = new ProviderCall(pool, { method: 'POST', path: basePath + path, headers, body })
      const reply = request.stream
        ? await readStream(post, watch, queues ? MAX_QUEUE_MS : 0)
        : readReply(await readWhole(post, watch), watch)
      return { reply, omitted }
    } catch (error) {
      watch.end()
      post?.abort(error)
      throw toNetworkError(error, id, watch.aborted)
    }
  }

  function readWhole(post: ProviderCall, watch: CallDeadline): Promise<WholeResponse> {
    return post.readWhole(limitOf, () => watch.extend(timeouts.idle_ms))
  }

  function readFailure({ head, text }: WholeResponse): GatewayError {
    const { status, headers } = head
    const body = apiKey === '' ? text : text.replaceAll(apiKey, '[redacted]')
    return adapter.parseError({ provider: id, status, headers, body })
  }

  function readReply(whole: WholeResponse, watch: CallDeadline): Reply {
    if (isErrorStatus(whole.head)) throw readFailure(whole)
    if (!whole.complete) throw new GatewayError('provider_error', `${id} sent a reply that is too large.`)
    watch.end()
    const body = parse(whole.text)
    const event = adapter.parseReply(body)
    const { parts, native } = event
    const isSource = native !== undefined && native === body
    return { type: 'whole', event: isSource ? { parts, native, source: whole.text } : event }
  }

  async function readStream(post: ProviderCall, watch: CallDeadline, queueMs: number): Promise<Reply> {
    const head = await post.head()
    if (isErrorStatus(head)) throw readFailure(await readWhole(post, watch))
    if (!isEventStream(head)) {
      throw new GatewayError('provider_error', `${id} answered a request for a stream with something else.`)
    }
    const { idle_ms } = timeouts
    const source = readBatches(id, post, adapter.createStreamReader(), watch, idle_ms, queueMs)
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

function isErrorStatus({ status }: ResponseHead): boolean {
  return status > 299
}

function limitOf(head: ResponseHead): number {
  return isErrorStatus(head) ? MAX_ERROR_BYTES : MAX_REPLY_BYTES
}

function isEventStream({ headers }: ResponseHead): boolean {
  return /^text\/event-stream\b/i.test(String(headers['content-type']))
}

/** A provider that can be called. */
export interface Provider {
  readonly client: ProviderClient
  readonly capabilities: Capabilities
}
