import type { Dispatcher } from 'undici'
import { ConnectError, ProviderCall } from '../../../providers/shared/http.ts'
import type { ResponseHead } from '../../../providers/shared/response-head.ts'
import { mcpError } from '../errors.ts'
import { type Bytes, invalidMessage } from './envelope.ts'
import { SseData } from './sse-data.ts'
import type { UpstreamContext } from './upstream.ts'

export type Headers = Readonly<Record<string, string>>

/** The response to a message. */
export interface PostResponse {
  readonly head: ResponseHead
  /** Returns the next message, which must be read to its end before the next call. Undefined at the end. */
  next(): Promise<Bytes | undefined>
  /** Nothing more is read. A response that is about to end keeps its connection. */
  finish(): void
  /** Closes the connection. */
  abort(reason: unknown): void
}

/** A stream that sends nothing behind its response is given so long to end. */
const END_MS = 1000

/**
 * Sends a message to a server and returns its response as soon as the head is there. Calls `onSent` unless no
 * connection could be made.
 */
export async function postMessage(
  pool: Dispatcher,
  path: string,
  method: 'POST' | 'GET' | 'DELETE',
  headers: Headers,
  body: string | undefined,
  signal: AbortSignal,
  onSent?: UpstreamContext['onSent'],
): Promise<PostResponse> {
  signal.throwIfAborted()
  const sentAt = performance.now()
  const call = new ProviderCall(pool, {
    ...{ method, path },
    headers: { 'accept-encoding': 'identity', ...headers },
    ...(body !== undefined && { body }),
  })
  const abort = () => call.abort(signal.reason)
  signal.addEventListener('abort', abort)
  const detach = () => signal.removeEventListener('abort', abort)
  try {
    const head = await call.readHead()
    return createResponse(call, head, detach)
  } catch (error) {
    detach()
    signal.throwIfAborted()
    throw unreachableError(error)
  } finally {
    if (call.isSent) onSent?.(sentAt)
  }
}

function createResponse(call: ProviderCall, head: ResponseHead, detach: () => void): PostResponse {
  let chunks: Buffer[] = []
  const read = async (): Promise<Buffer | undefined> => {
    for (;;) {
      const chunk = chunks.shift()
      if (chunk !== undefined) return chunk
      const next = await call.read().catch((error: unknown) => Promise.reject(unreachableError(error)))
      if (next === undefined) return undefined
      chunks = [...next]
    }
  }
  async function* readAll(): Bytes {
    for (let chunk = await read(); chunk !== undefined; chunk = await read()) yield chunk
  }
  const type = String(head.headers['content-type'] ?? '')
    .split(';', 1)[0]
    ?.trim()
    .toLowerCase()
  const events = type === 'text/event-stream' ? new SseData(read) : undefined
  let hasMore = true
  return {
    head,
    async next() {
      if (events !== undefined) return events.next()
      const isFirst = hasMore
      hasMore = false
      if (!isFirst) return undefined
      if (head.status < 300 && type !== 'application/json')
        throw invalidMessage('a response that is neither JSON nor an event stream')
      return readAll()
    },
    finish() {
      const timer = setTimeout(() => call.abort(ENDED), END_MS).unref()
      void drain()
        .catch(() => undefined)
        .finally(() => {
          clearTimeout(timer)
          detach()
        })
    },
    abort(reason) {
      detach()
      call.abort(reason)
    },
  }

  async function drain(): Promise<void> {
    chunks = []
    while ((await call.read()) !== undefined) {}
  }
}

const ENDED = new Error('The response is complete.')

function unreachableError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || 'details' in error) return error
  // The message may have the address, and with it credentials.
  const message = 'The tool server could not be reached, or closed the connection. Try again later.'
  const code = String(error.code)
  const isConnect = error instanceof ConnectError
  const cause = isConnect ? new ConnectError(new Error('no connection'), code) : new Error(code)
  return mcpError('tool_server_unavailable', message, { cause, retryAfter: 5 })
}
