import type { JsonObject } from '../../../core/contract/index.ts'
import { mcpError } from '../errors.ts'
import type { Era, RpcErrorObject } from '../protocol.ts'
import type { Outcome } from './envelope.ts'

/** What a server says of itself: its answer to `server/discover` or `initialize`. */
export interface ServerDescription {
  readonly era: Era
  readonly revision: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions?: string | undefined
}

/** What a call sends to a server that asks for the caller's own credentials. */
export interface CallerCredentials {
  readonly userId: number
  /** The value of `authorization` for servers with `passthrough`. */
  readonly authorization?: string | undefined
  /** The caller's token of an identity provider, for servers that act on behalf of the user. */
  readonly token?: string | undefined
}

/** A session at a server that has sessions. */
export interface UpstreamSession extends ServerDescription {
  /** Undefined: the server has given none. */
  readonly id: string | undefined
}

/** Where the session of a client at a server is kept. Requests of one `key` share a session. */
export interface SessionSlot {
  readonly key: string
  /** What `initialize` declares. */
  readonly capabilities: JsonObject
  /** Other processes may know the session: undefined if it is this process's alone. */
  readonly shared?: {
    load(): Promise<UpstreamSession | undefined>
    save(session: UpstreamSession): Promise<void>
    /** The server has ended the session. */
    forget(session: UpstreamSession): Promise<void>
  }
}

export interface UpstreamMessage {
  readonly method: string
  readonly params: JsonObject
  /** The JSON text of `params.arguments`, which is sent as it is. */
  readonly argumentsText?: string | undefined
  /** Headers `Mcp-Param-…`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** An answer to a request of a server. */
export type ClientAnswer = { readonly result: unknown } | { readonly error: RpcErrorObject }

/** The span of a request to a server. */
export interface SentSpan {
  /** `traceparent` and `tracestate` for the server. */
  readonly fields: Readonly<Record<string, string>>
  /** Says what is known when the request is built. */
  describe(id: string, revision: string): void
  end(code?: number): void
  fail(error: unknown, isAborted: boolean): void
}

/** The trace of the request of a client. */
export interface ClientTrace {
  /** `url`: undefined for programs. */
  startCall(server: string, url: string | undefined, message: UpstreamMessage): SentSpan
}

export interface UpstreamContext {
  readonly caller: CallerCredentials
  readonly session: SessionSlot
  /** What the client declares, as far as the gateway passes it on. */
  readonly capabilities: JsonObject
  readonly clientInfo?: JsonObject | undefined
  readonly logLevel?: string | undefined
  /** Undefined: the request is not traced. */
  readonly trace?: ClientTrace | undefined
  readonly span?: SentSpan | undefined
  /** Cancels the request at the server. */
  readonly signal: AbortSignal
  /** Called with when the request was sent (`performance.now()`), once it is known to be on a connection. */
  onSent?(sentAt: number): void
  onNotification?(method: string, params: JsonObject): void
  /** Called for a request of the server to the client. Undefined: such requests are refused. */
  onRequest?(method: string, params: JsonObject): Promise<ClientAnswer>
}

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const

/** What a list-changed notice is about. */
export type ListKind = (typeof LIST_KINDS)[number]

/** The connection to a server, whichever transport and revision it has. */
export interface Upstream {
  /** Rejects with `tool_server_unavailable` if the server cannot be reached. */
  describe(context: UpstreamContext): Promise<ServerDescription>
  /** Sends a request. Rejects with a `GatewayError` if there is no answer. */
  request(message: UpstreamMessage, context: UpstreamContext): Promise<Outcome>
  /** Calls the listener when the server says that a list has changed, while anybody listens. */
  onListChanged(listener: (kind: ListKind) => void): () => void
  /** Ends the session of a client. */
  endSession(key: string): void
  close(): Promise<void>
}

/** Times and sizes for all servers: the section `mcp.limits` of the settings. */
export interface UpstreamLimits {
  readonly connect_ms: number
  /** Idle timeout: notifications of a request restart it. */
  readonly call_timeout_ms: number
  readonly max_call_ms: number
  readonly max_result_bytes: number
  readonly max_program_result_bytes: number
  readonly max_concurrent: number
}

/** The section `mcp.limits` of the settings. */
export interface McpLimits extends UpstreamLimits {
  readonly max_request_bytes: number
  readonly max_inspected_bytes: number
  readonly list_seconds: number
}

/** Measures how long a request may wait. Aborts with `tool_call_timeout`. */
export interface CallTimer {
  readonly signal: AbortSignal
  /** The server has sent something. */
  touch(): void
  /** Waiting for the client, not for the server. */
  pause(): void
  /** The result has begun: only the longest time counts. */
  settle(): void
  stop(): void
}

export function startCallTimer(
  name: string,
  { call_timeout_ms: silenceMs, max_call_ms: longestMs }: UpstreamLimits,
  parent: AbortSignal,
): CallTimer {
  const controller = new AbortController()
  const abort = (ms: number) => {
    const message = `The tool server ${name} has not answered within ${Math.ceil(ms / 1000)} s.`
    controller.abort(mcpError('tool_call_timeout', message))
  }
  const onParent = () => controller.abort(parent.reason)
  if (parent.aborted) onParent()
  else parent.addEventListener('abort', onParent)
  const longest = setTimeout(abort, longestMs, longestMs).unref()
  let silence: NodeJS.Timeout | undefined
  const clear = () => {
    clearTimeout(silence)
    silence = undefined
  }
  const touch = () => {
    clear()
    silence = setTimeout(abort, silenceMs, silenceMs).unref()
  }
  touch()
  return {
    signal: controller.signal,
    touch,
    pause: clear,
    settle: clear,
    stop() {
      clear()
      clearTimeout(longest)
      parent.removeEventListener('abort', onParent)
    },
  }
}
