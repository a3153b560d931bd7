import type { Logger } from 'pino'
import type { Dispatcher } from 'undici'
import { GatewayError } from '../../../core/contract/index.ts'
import { createBoundedCache } from '../../../core/util/bounded-cache.ts'
import { parseRetryAfter } from '../../../providers/shared/errors.ts'
import { mcpError } from '../errors.ts'
import { type Era, encodeHeaderText, MODERN_REVISION, nameOfRequest, RPC } from '../protocol.ts'
import {
  invalidMessage,
  newUpstreamId,
  type Outcome,
  readMessage,
  type ServerMessage,
  withEnd,
} from './envelope.ts'
import { type Headers, type PostResponse, postMessage } from './http-request.ts'
import { createListWatch } from './list-watch.ts'
import {
  buildModernRequest,
  buildSessionRequest,
  DISCOVER,
  initializeMessage,
  readDiscovery,
  readInitialization,
} from './revision.ts'
import {
  type CallerCredentials,
  type CallTimer,
  type ServerDescription,
  startCallTimer,
  type Upstream,
  type UpstreamContext,
  type UpstreamLimits,
  type UpstreamMessage,
  type UpstreamSession,
} from './upstream.ts'

/** What a server at a URL is reached with. */
interface HttpTarget {
  readonly name: string
  readonly url: URL
  readonly pool: Dispatcher
  readonly limits: UpstreamLimits
  readonly logger: Logger
  /** The headers with credentials. `isRenewed`: the server has refused the former ones. */
  authorize(caller: CallerCredentials, isRenewed: boolean, signal: AbortSignal): Promise<Headers>
}

const DISCOVER_MS = 5000
const MAX_SESSIONS = 10_000

/** A server whose revision is known is asked again after so long: it may have been replaced. */
const DESCRIPTION_MS = 10 * 60_000

/** Errors of a server that does not know the other era. */
const SESSION_SERVER_CODES = new Set<number>([RPC.refused, RPC.sessionNotFound, RPC.invalidRequest])
const MODERN_SERVER_CODES = new Set<number>([
  ...[RPC.methodNotFound, RPC.unsupportedVersion, RPC.headerMismatch, RPC.invalidParams],
])

/** The server has no such session, or is of the other era: nothing was done. */
class NotProcessedError extends Error {}

/** Statuses by which a server can say that it does not know the session or the era. */
const NOT_PROCESSED_STATUSES = new Set([400, 404, 405, 406, 415])

/**
 * Connects to a server over streamable HTTP. Its era is found once, and again if it stops to fit. See
 * docs/decisions/mcp.md, "The client of the SDK is not used".
 */
export function createHttpUpstream(target: HttpTarget): Upstream {
  const { name, url, pool, limits, logger } = target
  const path = url.pathname + url.search
  const sessions = createBoundedCache<string, Promise<UpstreamSession>>(MAX_SESSIONS)
  let modern: { readonly description: ServerDescription; readonly until: number } | undefined
  let era: Era | undefined
  let finding: Promise<Era> | undefined

  async function post(
    headers: Headers,
    body: string | undefined,
    context: Pick<UpstreamContext, 'caller' | 'onSent' | 'span'>,
    signal: AbortSignal,
    method: 'POST' | 'GET' | 'DELETE' = 'POST',
  ): Promise<PostResponse> {
    for (const isRenewed of [false, true]) {
      const all = {
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        ...context.span?.fields,
        ...(await target.authorize(context.caller, isRenewed, signal)),
      }
      const response = await postMessage(pool, path, method, all, body, signal, context.onSent)
      const { status } = response.head
      if (status !== 401 && status !== 403) return response
      response.finish()
      if (status === 403 || isRenewed) break
    }
    throw mcpError('tool_server_refused', `The tool server ${name} refused the credentials of the gateway.`)
  }

  /** Answers what the server asks meanwhile, and returns the answer to the request. */
  async function exchange(
    response: PostResponse,
    id: string,
    context: UpstreamContext,
    timer: CallTimer,
    session?: UpstreamSession,
  ): Promise<Outcome> {
    const { status } = response.head
    for (;;) {
      const bytes = await response.next()
      if (bytes === undefined) throw invalidMessage('no response to the request')
      const message = await readMessage(bytes, limits.max_result_bytes).catch((error: unknown) => {
        throw status >= 400 && GatewayError.isInstance(error) ? statusError(response) : error
      })
      timer.touch()
      // Proxies that limit rates answer in JSON of their own.
      if (status === 429 && (message?.type !== 'reply' || message.id !== id)) throw statusError(response)
      if (message?.type === 'reply' && isReplyTo(message, id)) {
        timer.settle()
        return withEnd(message.outcome, () => {
          timer.stop()
          response.finish()
        })
      }
      if (message?.type === 'notification') handleNotice(message, id, context)
      else if (message?.type === 'request' && session !== undefined)
        void answer(message, context, session, timer)
    }
  }

  async function answer(
    { id, method, params }: ServerMessage & { type: 'request' },
    context: UpstreamContext,
    session: UpstreamSession,
    timer: CallTimer,
  ): Promise<void> {
    const refusal = { error: { code: RPC.methodNotFound, message: 'The client does not support this.' } }
    try {
      timer.pause()
      const ask = context.onRequest
      const content =
        method === 'ping' ? { result: {} } : ask === undefined ? refusal : await ask(method, params)
      const body = JSON.stringify({ jsonrpc: '2.0', id, ...content })
      ;(await post(sessionHeaders(session), body, context, timer.signal)).finish()
    } catch (err) {
      if (!timer.signal.aborted)
        logger.debug({ err, server: name }, 'a request of a tool server was not answered')
    } finally {
      timer.touch()
    }
  }

  async function sendModern(
    message: UpstreamMessage,
    context: UpstreamContext,
    timer: CallTimer,
  ): Promise<Outcome> {
    const id = newUpstreamId()
    const { method, params, headers } = message
    const named = nameOfRequest(method, params)
    const response = await post(
      {
        ...headers,
        'mcp-protocol-version': MODERN_REVISION,
        'mcp-method': method,
        ...(named !== undefined && { 'mcp-name': encodeHeaderText(named) }),
      },
      buildModernRequest(id, message, context),
      context,
      timer.signal,
    )
    checkStatus(response)
    const outcome = await exchange(response, id, context, timer)
    const isRefused = NOT_PROCESSED_STATUSES.has(response.head.status) && 'error' in outcome
    if (isRefused && SESSION_SERVER_CODES.has(outcome.error.code) && method !== DISCOVER.method)
      throw new NotProcessedError('the server has sessions')
    return outcome
  }

  async function sendInSession(
    message: UpstreamMessage,
    context: UpstreamContext,
    timer: CallTimer,
  ): Promise<Outcome> {
    const session = await sessionOf(context, timer.signal)
    const id = newUpstreamId()
    const cancel = () => void notifyCancelled(session, id, context)
    timer.signal.addEventListener('abort', cancel)
    try {
      context.span?.describe(id, session.revision)
      const body = buildSessionRequest(id, message, context)
      const response = await post(sessionHeaders(session), body, context, timer.signal)
      if (response.head.status === 404 && session.id !== undefined) {
        response.finish()
        sessions.delete(context.session.key)
        await context.session.shared?.forget(session)
        throw new NotProcessedError('the session has ended')
      }
      checkStatus(response)
      const outcome = await exchange(response, id, context, timer, session)
      return withEnd(outcome, () => timer.signal.removeEventListener('abort', cancel))
    } catch (error) {
      timer.signal.removeEventListener('abort', cancel)
      throw error
    }
  }

  /** The disconnection alone is no cancellation in these revisions. */
  async function notifyCancelled(session: UpstreamSession, requestId: string, context: UpstreamContext) {
    const params = { requestId, reason: 'The client has cancelled the request.' }
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    await post(sessionHeaders(session), body, context, AbortSignal.timeout(DISCOVER_MS)).then(
      (response) => response.finish(),
      () => undefined,
    )
  }

  function sessionOf(context: UpstreamContext, signal: AbortSignal): Promise<UpstreamSession> {
    const { key } = context.session
    const known = sessions.get(key)
    if (known !== undefined) return known
    const opened = openSession(context, signal)
    sessions.set(key, opened)
    opened.catch(() => sessions.delete(key))
    return opened
  }

  async function openSession(
    { onSent: _, ...context }: UpstreamContext,
    signal: AbortSignal,
  ): Promise<UpstreamSession> {
    const { shared } = context.session
    const stored = await shared?.load()
    if (stored !== undefined) return stored
    // The client may wait without an end: a server that is slow must not.
    const timer = startCallTimer(name, limits, signal)
    try {
      const session = await initialize(context, timer)
      await shared?.save(session)
      return session
    } catch (error) {
      throw timer.signal.aborted && !signal.aborted ? timer.signal.reason : error
    } finally {
      timer.stop()
    }
  }

  async function initialize(context: UpstreamContext, timer: CallTimer): Promise<UpstreamSession> {
    const id = newUpstreamId()
    const body = buildSessionRequest(id, initializeMessage(context))
    const response = await post({}, body, context, timer.signal)
    checkStatus(response)
    const given = response.head.headers['mcp-session-id']
    const outcome = await exchange(response, id, context, timer)
    if ('error' in outcome && MODERN_SERVER_CODES.has(outcome.error.code))
      throw new NotProcessedError('the server has no sessions')
    const session = await readInitialization(outcome, typeof given === 'string' ? given : undefined)
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    ;(await post(sessionHeaders(session), initialized, context, timer.signal)).finish()
    return session
  }

  function findEra(context: UpstreamContext): Promise<Era> {
    if (era !== undefined && (era === 'session' || Date.now() < (modern?.until ?? 0)))
      return Promise.resolve(era)
    finding ??= discover(context).finally(() => {
      finding = undefined
    })
    return finding
  }

  async function discover(context: UpstreamContext): Promise<Era> {
    const discoverLimits = { ...limits, call_timeout_ms: Math.min(DISCOVER_MS, limits.call_timeout_ms) }
    // Several requests wait for it: that of one client does not end it.
    const timer = startCallTimer(name, discoverLimits, new AbortController().signal)
    let description: ServerDescription | undefined
    try {
      description = await readDiscovery(
        await sendModern(DISCOVER, { caller: context.caller } as UpstreamContext, timer),
      )
    } catch (error) {
      const isEvidence =
        error instanceof NotProcessedError ||
        (GatewayError.isInstance(error) && error.code === 'tool_call_timeout')
      if (!isEvidence) throw error
    } finally {
      timer.stop()
    }
    if (description !== undefined) modern = { description, until: Date.now() + DESCRIPTION_MS }
    era = description === undefined ? 'session' : 'modern'
    return era
  }

  async function attempt(message: UpstreamMessage, context: UpstreamContext): Promise<Outcome> {
    const found = await findEra(context)
    const timer = startCallTimer(name, limits, context.signal)
    try {
      return found === 'modern'
        ? await sendModern(message, context, timer)
        : await sendInSession(message, context, timer)
    } catch (error) {
      timer.stop()
      throw timer.signal.aborted && !context.signal.aborted ? timer.signal.reason : error
    }
  }

  /** What was not processed is sent once more: in a new session, or as the server now speaks. */
  async function request(message: UpstreamMessage, context: UpstreamContext): Promise<Outcome> {
    try {
      return await attempt(message, context)
    } catch (error) {
      if (!(error instanceof NotProcessedError)) throw error
      era = undefined
      modern = undefined
    }
    return attempt(message, context).catch((error: unknown) => {
      throw error instanceof NotProcessedError ? invalidMessage(error.message) : error
    })
  }

  const watch = createListWatch({
    logger,
    name,
    async open(context, signal) {
      if ((await findEra(context)) === 'modern') {
        const id = newUpstreamId()
        const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
        const headers = { 'mcp-protocol-version': MODERN_REVISION, 'mcp-method': 'subscriptions/listen' }
        const body = buildModernRequest(
          id,
          { method: 'subscriptions/listen', params: { notifications } },
          context,
        )
        return post(headers, body, context, signal)
      }
      const session = await sessionOf(context, signal)
      return post(sessionHeaders(session), undefined, context, signal, 'GET')
    },
  })

  return {
    async describe(context) {
      if ((await findEra(context)) === 'modern' && modern !== undefined) return modern.description
      return sessionOf(context, context.signal).catch((error: unknown) => {
        throw error instanceof NotProcessedError ? invalidMessage(error.message) : error
      })
    },
    request,
    onListChanged: watch.add,
    endSession(key) {
      const session = sessions.get(key)
      sessions.delete(key)
      void session
        ?.then(async (opened) => {
          if (opened.id === undefined) return
          const context = { caller: { userId: 0 } }
          const signal = AbortSignal.timeout(DISCOVER_MS)
          ;(await post(sessionHeaders(opened), undefined, context, signal, 'DELETE')).finish()
        })
        .catch(() => undefined)
    },
    async close() {
      watch.close()
      await pool.destroy()
    },
  }

  function checkStatus(response: PostResponse): void {
    const { status, headers } = response.head
    if (status < 300) return
    const isJson = String(headers['content-type'] ?? '').includes('json')
    if (status >= 400 && status < 500 && isJson) return
    throw statusError(response)
  }

  /** The error for a response that is no JSON-RPC message. */
  function statusError(response: PostResponse): Error {
    const { status, headers } = response.head
    response.finish()
    if (NOT_PROCESSED_STATUSES.has(status)) return new NotProcessedError(`status ${status}`)
    const retryAfter = parseRetryAfter(headers) ?? 5
    const message = `The tool server ${name} answered with status ${status}. Try again in ${retryAfter} s.`
    return mcpError('tool_server_unavailable', message, { retryAfter })
  }
}

function sessionHeaders({ id, revision }: UpstreamSession): Headers {
  return { 'mcp-protocol-version': revision, ...(id !== undefined && { 'mcp-session-id': id }) }
}

/** An error about the request as a whole may have no id. */
function isReplyTo({ id, outcome }: ServerMessage & { type: 'reply' }, expected: string): boolean {
  return id === expected || (id === undefined && ('error' in outcome || 'result' in outcome))
}

/** Hands on what the server says about a request, with the token of the client. */
export function handleNotice(
  { method, params }: ServerMessage & { type: 'notification' },
  id: string,
  { onNotification }: Pick<UpstreamContext, 'onNotification'>,
): void {
  const isProgress = method === 'notifications/progress' && params.progressToken === id
  if (isProgress || method === 'notifications/message') onNotification?.(method, params)
}
