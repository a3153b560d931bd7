import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../../../core/contract/index.ts'
import { createCircuitBreakers } from '../../../providers/shared/circuit.ts'
import { createPool } from '../../../providers/shared/connection.ts'
import { fetchWhole } from '../../../providers/shared/http.ts'
import type { BreakerSettings, CircuitState } from '../../../providers/shared/model-breaker.ts'
import { mcpError } from '../errors.ts'
import type { AddressGuard } from '../servers/addresses.ts'
import { isListPersonal, type ToolServer, type Transport } from '../servers/state.ts'
import { createAuthorize, type PostForm, type ReadSecret } from './credentials.ts'
import { type Outcome, withEnd } from './envelope.ts'
import { createHttpUpstream } from './http-upstream.ts'
import { createStdioUpstream } from './stdio-upstream.ts'
import type { ListKind, Upstream, UpstreamContext, UpstreamLimits, UpstreamMessage } from './upstream.ts'

/** A server that calls can be sent to. */
type ReachableServer = Pick<ToolServer, 'name' | 'transport' | 'timeoutMs' | 'maxConcurrent'>

interface UpstreamServices {
  readonly limits: UpstreamLimits
  readonly breaker: BreakerSettings
  readonly logger: Logger
  readonly readSecret: ReadSecret
  readonly addresses: AddressGuard
}

/** The connections to all servers. */
export interface Upstreams {
  /** Sends a request, unless the circuit of the server is open or its concurrency limit is reached. */
  request(server: ReachableServer, message: UpstreamMessage, context: UpstreamContext): Promise<Outcome>
  describe(server: ReachableServer, context: UpstreamContext): ReturnType<Upstream['describe']>
  onListChanged(server: ReachableServer, listener: (kind: ListKind) => void): () => void
  endSession(key: string): void
  /** Of servers that requests were sent to lately, whether the last one was answered. */
  contacts(): Iterable<{ readonly server: string; readonly isUp: boolean }>
  /** The circuits of servers. `isOfCaller`: it is not closed for a single caller. */
  circuits(): Iterable<ServerCircuit>
  /** Closes the connections to servers that are no longer these. */
  retain(servers: Iterable<ReachableServer>): void
  close(): Promise<void>
}

interface ServerCircuit {
  readonly server: string
  readonly state: CircuitState
  readonly isOfCaller: boolean
}

/** Whether a server answered is forgotten after so long. */
const CONTACT_MS = 10 * 60_000

/** Errors of a server that is unreachable, hangs or sends no valid response. */
const DOWN_CODES = new Set(['tool_server_unavailable', 'tool_call_timeout'])

const MAX_TOKEN_BYTES = 256 * 1024

/** The server refuses the credentials of one caller, which says nothing about the server. */
class CallerRefusedError extends Error {
  readonly refusal: GatewayError

  constructor(refusal: GatewayError) {
    super(refusal.message)
    this.refusal = refusal
  }
}

interface OpenUpstream {
  readonly upstream: Upstream
  /** What it was opened for: a change opens another one. */
  readonly transport: Transport
  readonly timeoutMs: number | null
  running: number
  /** The last request that was answered, or failed as if the server was down. */
  contact?: { readonly isUp: boolean; readonly at: number }
}

export function createUpstreams({
  limits: common,
  breaker,
  logger,
  readSecret,
  addresses,
}: UpstreamServices): Upstreams {
  const breakers = createCircuitBreakers(breaker)
  const open = new Map<string, OpenUpstream>()
  /** Connects to allowed addresses only: each name is checked when it is resolved. */
  const poolOf = (url: URL): Dispatcher => {
    const issue = addresses.findIssue(url)
    if (issue !== undefined)
      throw mcpError('tool_server_unavailable', `The address of the tool server ${issue}.`)
    return createPool(url.origin, {
      connect: { lookup: addresses.lookup, timeout: common.connect_ms },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 30_000,
    })
  }

  const postForm: PostForm = async (url, form, signal) => {
    const { pathname, search } = new URL(url)
    const pool = poolOf(new URL(url))
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
    try {
      const request = { method: 'POST', path: pathname + search, headers, body: form.toString() } as const
      const limit = { maxBytes: MAX_TOKEN_BYTES, isCutOff: false }
      const { head, text } = await fetchWhole(pool, request, limit, signal)
      return { status: head.status, text }
    } catch (cause) {
      signal.throwIfAborted()
      const message = 'The authorization server of the tool server could not be reached. Try again later.'
      throw mcpError('tool_server_unavailable', message, { cause, retryAfter: 5 })
    } finally {
      await pool.destroy()
    }
  }

  function openUpstream({ name, transport, timeoutMs }: ReachableServer): Upstream {
    const limits = { ...common, call_timeout_ms: timeoutMs ?? common.call_timeout_ms }
    if (transport.type === 'program')
      return createStdioUpstream({ name, program: transport.program, limits, logger, readSecret })
    const url = new URL(transport.url)
    const authorize = createAuthorize(name, transport.auth, readSecret, postForm)
    return createHttpUpstream({ name, url, pool: poolOf(url), limits, logger, authorize })
  }

  function find(server: ReachableServer): OpenUpstream {
    const { transport, timeoutMs } = server
    const known = open.get(server.name)
    if (known?.transport === transport && known.timeoutMs === timeoutMs) return known
    if (known !== undefined) closeLater(known)
    const opened: OpenUpstream = { upstream: openUpstream(server), transport, timeoutMs, running: 0 }
    open.set(server.name, opened)
    return opened
  }

  /** What a circuit counts as a failure of the server, and nothing else. */
  async function guarded<Value>(
    { name, transport }: ReachableServer,
    { caller }: UpstreamContext,
    call: () => Promise<Value>,
  ): Promise<Value> {
    // Programs are started again after a time of their own.
    if (transport.type === 'program') return call()
    const by = { caller: caller.userId, isRetry: false }
    const isPersonal = isListPersonal({ transport })
    const attempt = () =>
      call().catch((error: unknown) => {
        const isOfCaller =
          isPersonal && GatewayError.isInstance(error) && error.code === 'tool_server_refused'
        throw isOfCaller ? new CallerRefusedError(error) : error
      })
    try {
      return await breakers.guard({ provider: 'tool-server', model: name }, by, attempt)
    } catch (error) {
      if (error instanceof CallerRefusedError) throw error.refusal
      if (!GatewayError.isInstance(error) || error.code !== 'model_unavailable') throw error
      const message = `The tool server ${name} is temporarily unavailable (circuit open).`
      throw mcpError('tool_server_unavailable', message, { retryAfter: error.details.retryAfter ?? 5 })
    }
  }

  /** Notes whether the server answers. Other errors say nothing about it, nor do kept descriptions. */
  async function noted<Value>(found: OpenUpstream, isRequest: boolean, call: () => Promise<Value>) {
    try {
      const value = await call()
      if (isRequest) found.contact = { isUp: true, at: performance.now() }
      return value
    } catch (error) {
      if (GatewayError.isInstance(error) && DOWN_CODES.has(error.code))
        found.contact = { isUp: false, at: performance.now() }
      throw error
    }
  }

  /** Sends a request within a span of its own, which ends when the result was read. */
  async function inSpan(
    { upstream }: OpenUpstream,
    { name, transport }: ReachableServer,
    message: UpstreamMessage,
    context: UpstreamContext,
  ): Promise<Outcome> {
    if (context.trace === undefined) return upstream.request(message, context)
    const url = transport.type === 'http' ? transport.url : undefined
    const span = context.trace.startCall(name, url, message)
    try {
      const outcome = await upstream.request(message, { ...context, span })
      return withEnd(outcome, () => span.end('error' in outcome ? outcome.error.code : undefined))
    } catch (error) {
      span.fail(error, context.signal.aborted)
      throw error
    }
  }

  /** A call counts until its result has been read, or cannot be any more. */
  function occupy(upstream: OpenUpstream, signal: AbortSignal): () => void {
    const release = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', release)
      if (timer !== undefined) upstream.running--
      timer = undefined
    }
    let timer: NodeJS.Timeout | undefined = setTimeout(release, common.max_call_ms).unref()
    signal.addEventListener('abort', release)
    upstream.running++
    return release
  }

  function closeLater({ upstream }: OpenUpstream): void {
    upstream
      .close()
      .catch((err: unknown) => logger.warn({ err }, 'connection to a tool server was not closed'))
  }

  return {
    async request(server, message, context) {
      const found = find(server)
      if (found.running >= (server.maxConcurrent ?? common.max_concurrent)) {
        const text = `The tool server ${server.name} has ${found.running} calls at once. Try again later.`
        throw mcpError('tool_server_unavailable', text, { retryAfter: 1 })
      }
      const release = occupy(found, context.signal)
      try {
        const outcome = await guarded(server, context, () =>
          noted(found, true, () => inSpan(found, server, message, context)),
        )
        return withEnd(outcome, release)
      } catch (error) {
        release()
        throw error
      }
    },
    describe: (server, context) =>
      guarded(server, context, () => {
        const found = find(server)
        return noted(found, false, () => found.upstream.describe(context))
      }),
    onListChanged: (server, listener) => find(server).upstream.onListChanged(listener),
    endSession(key) {
      for (const { upstream } of open.values()) upstream.endSession(key)
    },
    *contacts() {
      const since = performance.now() - CONTACT_MS
      for (const [server, { contact }] of open)
        if (contact !== undefined && contact.at > since) yield { server, isUp: contact.isUp }
    },
    *circuits() {
      for (const { model: server, state } of breakers.circuits())
        if (open.has(server)) yield { server, state, isOfCaller: false }
      for (const { model: server, state } of breakers.callerCircuits())
        if (open.has(server)) yield { server, state, isOfCaller: true }
    },
    retain(servers) {
      const names = new Set([...servers].map(({ name }) => name))
      for (const [name, known] of open) {
        if (names.has(name)) continue
        open.delete(name)
        closeLater(known)
      }
    },
    async close() {
      await Promise.all([...open.values()].map(({ upstream }) => upstream.close()))
    },
  }
}
