import { type EndpointResponse, GatewayError } from '../../../core/contract/index.ts'
import { RPC, RpcError, type RpcErrorObject, type RpcId } from '../protocol.ts'
import type { Bytes } from '../upstream/envelope.ts'

/** The response to a message, complete or as it arrives. */
export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON-RPC message. Undefined: the request was cancelled, and gets none. */
  readonly message: Bytes | string | undefined
}

/** What may be sent to the client before the answer. Each is a JSON-RPC message. */
export interface Channel {
  send(json: string): void
  /** Answers this request while its work goes on for another one. */
  interrupt(answer: Answer): void
}

/** A client waits so long for a response without a head, which could tell it that the gateway works. */
const SILENCE_MS = 10_000

const MAX_QUEUED = 1000

const KEEP_ALIVE = ': keep-alive\n\n'

/**
 * Responds with JSON if nothing precedes the answer, else with a stream of events, if the client accepts one.
 */
export async function respond(
  work: (channel: Channel) => Promise<Answer>,
  acceptsEvents: boolean,
): Promise<EndpointResponse> {
  const queue: string[] = []
  let isOver = false
  let answered: Answer | undefined
  let failed: { readonly reason: unknown } | undefined
  let notify = () => {}
  const finish = (answer: Answer) => {
    answered ??= answer
    notify()
  }
  const channel: Channel = {
    send(json) {
      if (isOver || !acceptsEvents || queue.length >= MAX_QUEUED) return
      queue.push(json)
      notify()
    },
    interrupt: finish,
  }
  work(channel).then(finish, (reason: unknown) => {
    failed = { reason }
    notify()
  })
  const hasNews = () => queue.length > 0 || answered !== undefined || failed !== undefined

  /** Waits for events or the answer; if there may be events, not for long. */
  async function nextOf(): Promise<Answer | 'event' | undefined> {
    if (!hasNews())
      await new Promise<void>((resolve) => {
        const timer = acceptsEvents ? setTimeout(resolve, SILENCE_MS).unref() : undefined
        notify = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    if (queue.length > 0) return 'event'
    if (answered === undefined && failed !== undefined) throw failed.reason
    return answered
  }

  const first = await nextOf()
  if (typeof first === 'object') return toJsonResponse(first)
  return { status: 200, stream: stream() }

  async function* stream(): AsyncGenerator<string | Uint8Array, void, undefined> {
    try {
      for (;;) {
        for (let json = queue.shift(); json !== undefined; json = queue.shift()) yield toEvent(json)
        const next = await nextOf()
        if (next === undefined) yield KEEP_ALIVE
        if (typeof next !== 'object') continue
        if (typeof next.message === 'string') yield toEvent(next.message)
        else if (next.message !== undefined) yield* toEventParts(next.message)
        return
      }
    } finally {
      isOver = true
    }
  }
}

function toJsonResponse({ status, headers, message }: Answer): EndpointResponse {
  if (message === undefined) return { status, headers: { ...headers, ...EVENTS }, body: '' }
  const all = { 'content-type': 'application/json', ...headers }
  if (typeof message === 'string') return { status, headers: all, body: message }
  return { status, headers: all, stream: message }
}

const EVENTS = { 'content-type': 'text/event-stream' }

function toEvent(json: string): string {
  return `event: message\ndata: ${json.replaceAll(/[\r\n]+/g, ' ')}\n\n`
}

/** JSON has line ends between values only, where a space means the same. */
async function* toEventParts(bytes: Bytes): AsyncGenerator<string | Uint8Array, void, undefined> {
  yield 'event: message\ndata: '
  for await (const chunk of bytes) yield withoutLineEnds(chunk)
  yield '\n\n'
}

function withoutLineEnds(chunk: Buffer): Buffer {
  if (!chunk.includes(0x0a) && !chunk.includes(0x0d)) return chunk
  return Buffer.from(chunk.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)))
}

/** Reads a message to its end. */
export async function readMessageText(message: Bytes | string): Promise<string> {
  if (typeof message === 'string') return message
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

export function resultAnswer(id: RpcId, result: unknown): Answer {
  return { status: 200, message: JSON.stringify({ jsonrpc: '2.0', id, result }) }
}

/** Errors of servers are passed on as they are. */
export function errorObjectAnswer(id: RpcId | undefined, error: RpcErrorObject, status = 200): Answer {
  return { status, message: JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error }) }
}

/** The JSON-RPC codes of errors of ours; the others are `refused`. */
const RPC_CODES: Readonly<Record<string, number>> = {
  tool_not_found: RPC.invalidParams,
  mcp_session_not_found: RPC.sessionNotFound,
  internal_error: RPC.internal,
}

/** These are about the endpoint or the session, not about the call. */
const HTTP_CODES = new Set([
  'tool_server_not_found',
  'mcp_session_not_found',
  'mcp_state_unavailable',
  'invalid_api_key',
  'shutting_down',
  'method_not_allowed',
])

/** Our codes for errors of the protocol, by their HTTP status. */
const CODES_BY_STATUS: Readonly<Record<number, string>> = {
  403: 'endpoint_not_allowed',
  404: 'not_found',
  415: 'unsupported_media_type',
}

/** The JSON-RPC code of an error. Undefined for one that is a bug. */
export function rpcCodeOf(error: unknown): number | undefined {
  if (error instanceof RpcError) return error.code
  return GatewayError.isInstance(error) ? (RPC_CODES[error.code] ?? RPC.refused) : undefined
}

/** Returns the response for an error. Undefined for one that is a bug. */
export function errorAnswer(id: RpcId | undefined, error: unknown): Answer | undefined {
  if (error instanceof RpcError) {
    const { code, message, status } = error
    const ours = CODES_BY_STATUS[status] ?? 'invalid_value'
    const answer = errorObjectAnswer(id, { code, message, data: { ...error.data, code: ours } }, status)
    return { ...answer, headers: { 'x-error-code': ours } }
  }
  if (!GatewayError.isInstance(error)) return undefined
  const { code, message, status, details } = error
  const { meta, retryAfter } = details
  const data = { code, ...meta, ...(retryAfter !== undefined && { retry_after: retryAfter }) }
  const answer = errorObjectAnswer(id, { code: rpcCodeOf(error) ?? RPC.refused, message, data })
  return {
    ...answer,
    status: HTTP_CODES.has(code) ? status : 200,
    headers: { 'x-error-code': code, ...details.headers },
  }
}
