import {
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  GatewayError,
  Type,
  user,
} from '../../../core/contract/index.ts'
import { type CallerSource, rulesPositionOf } from '../../../core/pipeline/inference.ts'
import type { Tracer } from '../../tracing/index.ts'
import type { ToolServer } from '../catalog.ts'
import { MCP_ERROR_CODES, serverNotFoundError } from '../errors.ts'
import { objectOf, RPC, RpcError, SESSION_REVISIONS, SUBSCRIPTION_ID } from '../protocol.ts'
import { type RequestTrace, startRequestTrace } from '../spans.ts'
import { LIST_KINDS, type ListKind } from '../upstream/upstream.ts'
import type { ClientContext } from './client-context.ts'
import { describeCapabilities, type FrontServices, handleRequest, serverInfo } from './handlers.ts'
import {
  type ClientMessage,
  checkModernRequest,
  headerOf,
  isModern,
  type ModernRequest,
  parseClientMessage,
  unsupportedVersion,
} from './message.ts'
import { streamNotices } from './notices.ts'
import { answerName } from './requests.ts'
import { type Answer, type Channel, errorAnswer, respond, resultAnswer, rpcCodeOf } from './respond.ts'
import type { ClientSession } from './sessions.ts'

interface EndpointOptions extends FrontServices {
  readonly callers: CallerSource
  readonly maxRequestBytes: number
  /** Origins of browsers that may call, besides that of the gateway. */
  readonly origins: readonly string[]
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
}

type Call = EndpointCall<{ readonly type: 'user' }> & { readonly trace?: RequestTrace }
type ClientRequestMessage = ClientMessage & { readonly type: 'request' }

const CANCEL_POLL_MS = 1000
const PRIMARY_REVISION: string = SESSION_REVISIONS[0]

/** `/mcp/{server}`, and `/mcp` for all servers of the caller. */
export function createFrontEndpoints(options: EndpointOptions): readonly Endpoint[] {
  /** The requests of sessions in flight: an id may not be used twice at a time. */
  const running = new Set<string>()

  /** Refuses what a web page could send without the user's knowledge. */
  function checkOrigin({ headers }: Call): void {
    const { origin, host } = headers
    if (headers.authorization === undefined && headers['x-api-key'] === undefined)
      throw new GatewayError('invalid_api_key', 'Send the API key as "Authorization: Bearer <API_KEY>".')
    if (origin === undefined || options.origins.includes('*') || options.origins.includes(origin)) return
    // Any other name could be one that an attacker has pointed at this machine.
    if (LOOPBACK.test(host ?? '') && LOOPBACK.test(hostOf(origin))) return
    const message = `Web pages of ${origin.slice(0, 200)} may not call this endpoint. Add it to cors.origins.`
    throw new RpcError(RPC.refused, message, { status: 403 })
  }

  function serversOf(name: string | undefined): readonly ToolServer[] {
    if (name === undefined) return options.catalog.list()
    const server = options.catalog.find(name)
    if (server !== undefined) return [server]
    throw serverNotFoundError(name)
  }

  function createContext(
    call: Call,
    name: string | undefined,
    own: Pick<ClientContext, 'era' | 'capabilities'> & Partial<ClientContext>,
  ): ClientContext {
    const { account, policies, policyPosition, rules } = options.callers.snapshot(call.account)
    const accept = headerOf(call.headers, 'accept') ?? '*/*'
    return {
      ...{ requestId: call.requestId, startedAt: performance.now() },
      ...{ client: call.client, headers: call.headers, servers: serversOf(name) },
      caller: { account, policies, rules, client: call.client },
      rulesPosition: rulesPositionOf({ account, rules, policyPosition }),
      isMerged: name === undefined,
      endpoint: endpointOf(name),
      ...{ session: undefined, sessionId: undefined, clientInfo: undefined, logLevel: undefined },
      acceptsEvents: /text\/event-stream|\*\/\*/.test(accept),
      trace: call.trace,
      ...own,
    }
  }

  function ofSession(call: Call, name: string | undefined, sessionId: string, session: ClientSession) {
    const { capabilities, clientInfo, logLevel, revision } = session
    call.trace?.note({ 'mcp.session.id': sessionId, 'mcp.protocol.version': revision })
    return createContext(call, name, {
      era: 'session',
      session,
      sessionId,
      capabilities,
      clientInfo,
      logLevel,
    })
  }

  async function findSession(call: Call, name: string | undefined): Promise<ClientContext> {
    const sessionId = headerOf(call.headers, 'mcp-session-id')
    const version = headerOf(call.headers, 'mcp-protocol-version')
    if (version !== undefined && !(SESSION_REVISIONS as readonly string[]).includes(version))
      throw unsupportedVersion(version)
    if (sessionId === undefined) {
      const message =
        'The header Mcp-Session-Id is missing. Begin with initialize, or use revision 2026-07-28.'
      throw new RpcError(RPC.refused, message, { status: 400 })
    }
    const session = await options.sessions.find(call.account, endpointOf(name), sessionId)
    return ofSession(call, name, sessionId, session)
  }

  async function handleMessage(call: Call, name: string | undefined): Promise<EndpointResponse> {
    const type = headerOf(call.headers, 'content-type') ?? ''
    if (!/^application\/json\s*(;|$)/i.test(type))
      throw new RpcError(RPC.invalidRequest, 'The Content-Type must be application/json.', { status: 415 })
    const message = parseClientMessage(Buffer.isBuffer(call.body) ? call.body : Buffer.alloc(0))
    const { tracer } = options
    if (message.type !== 'request') return route(call, name, message)
    if (tracer === undefined) return answerMessage(call, name, message)
    const trace = startRequestTrace(tracer, call, message)
    try {
      return trace.endWith(await answerMessage({ ...call, trace }, name, message))
    } catch (error) {
      trace.end()
      throw error
    }
  }

  async function answerMessage(call: Call, name: string | undefined, message: ClientRequestMessage) {
    try {
      return await route(call, name, message)
    } catch (error) {
      call.trace?.fail(error, rpcCodeOf(error), call.client.signal.aborted)
      return toResponse(errorAnswer(message.id, error), error)
    }
  }

  async function route(
    call: Call,
    name: string | undefined,
    message: ClientMessage,
  ): Promise<EndpointResponse> {
    if (isModern(message, call.headers)) {
      if (message.type !== 'request') return ACCEPTED
      const client: ModernRequest = checkModernRequest(message, call.headers)
      const context = createContext(call, name, { era: 'modern', ...client })
      if (message.method === 'subscriptions/listen') return listen(context, message)
      return answerRequest(context, message)
    }
    if (message.type === 'request' && message.method === 'initialize') return initialize(call, name, message)
    const context = await findSession(call, name)
    if (message.type === 'request') return answerRequest(context, message)
    const { session } = context
    if (session === undefined) return ACCEPTED
    if (message.type === 'response')
      await options.mailbox.put(answerName(session.key, message.id), message.message)
    else if (message.method === 'notifications/cancelled')
      await options.mailbox.put(cancelName(session.key, message.params.requestId), true)
    return ACCEPTED
  }

  async function initialize(
    call: Call,
    name: string | undefined,
    { id, params }: ClientRequestMessage,
  ): Promise<EndpointResponse> {
    const requested = String(params.protocolVersion)
    const revision = (SESSION_REVISIONS as readonly string[]).includes(requested)
      ? requested
      : PRIMARY_REVISION
    const capabilities = objectOf(params.capabilities)
    const clientInfo = objectOf(params.clientInfo)
    const sessionId = await options.sessions.open(call.account, endpointOf(name), {
      ...{ revision, capabilities, clientInfo },
    })
    const session = await options.sessions.find(call.account, endpointOf(name), sessionId)
    const context = ofSession(call, name, sessionId, session)
    const described = await describeCapabilities(options, context, call.client.signal)
    const result = { protocolVersion: revision, ...described, serverInfo: serverInfo(options, context) }
    const { message } = resultAnswer(id, result)
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'mcp-session-id': sessionId },
      body: message,
    }
  }

  function answerRequest(context: ClientContext, message: ClientRequestMessage): Promise<EndpointResponse> {
    const { session, client } = context
    const controller = new AbortController()
    const work = async (channel: Channel): Promise<Answer> => {
      if (session === undefined) {
        const stop = client.onAbort((reason) => controller.abort(reason))
        try {
          return await answer(context, message, channel, controller)
        } finally {
          // The body of the answer may still be read from the server.
          client.onClose(stop)
        }
      }
      return inSession(session, context, message, channel, controller)
    }
    return respond(work, context.acceptsEvents)
  }

  /** See docs/decisions/mcp.md, "A disconnection cancels only where the protocol says so". */
  async function inSession(
    { key }: ClientSession,
    context: ClientContext,
    message: ClientRequestMessage,
    channel: Channel,
    controller: AbortController,
  ): Promise<Answer> {
    const name = cancelName(key, message.id)
    if (running.has(name))
      throw new RpcError(RPC.invalidRequest, 'A request with this id is in flight.', { status: 400 })
    running.add(name)
    const ended = new AbortController()
    options.mailbox.take(name, ended.signal, CANCEL_POLL_MS).then(
      () => controller.abort(CANCELLED),
      () => undefined,
    )
    const stop = context.client.onAbort((reason) => {
      if (GatewayError.isInstance(reason)) controller.abort(reason)
    })
    try {
      return await answer(context, message, channel, controller)
    } finally {
      stop()
      ended.abort()
      running.delete(name)
    }
  }

  async function answer(
    context: ClientContext,
    message: ClientRequestMessage,
    channel: Channel,
    controller: AbortController,
  ): Promise<Answer> {
    try {
      return await handleRequest(options, context, message, channel, controller)
    } catch (error) {
      const { signal } = controller
      context.trace?.fail(error, rpcCodeOf(error), signal.aborted)
      if (signal.reason === CANCELLED) return { status: 200, message: undefined }
      const described = errorAnswer(message.id, error)
      if (described === undefined) throw error
      return described
    }
  }

  const LISTENED: Readonly<Record<string, ListKind>> = {
    toolsListChanged: 'tools',
    promptsListChanged: 'prompts',
    resourcesListChanged: 'resources',
  }

  function listen(context: ClientContext, { id, params }: ClientRequestMessage): EndpointResponse {
    const wanted = objectOf(params.notifications)
    const names = Object.keys(LISTENED).filter((name) => wanted[name] === true)
    const _meta = { [SUBSCRIPTION_ID]: id }
    const notifications = Object.fromEntries(names.map((name) => [name, true]))
    const method = 'notifications/subscriptions/acknowledged'
    return streamNotices(options, context, {
      kinds: new Set(names.flatMap((name) => LISTENED[name] ?? [])),
      first: JSON.stringify({ jsonrpc: '2.0', method, params: { _meta, notifications } }),
      format: (kind) =>
        JSON.stringify({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed`, params: { _meta } }),
      confirm: async () => undefined,
    })
  }

  async function openNotices(call: Call, name: string | undefined): Promise<EndpointResponse> {
    const sessionId = headerOf(call.headers, 'mcp-session-id')
    if (sessionId === undefined) throw notAllowedError()
    const context = await findSession(call, name)
    return streamNotices(options, context, {
      kinds: new Set(LIST_KINDS),
      format: (kind) => JSON.stringify({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` }),
      confirm: () => options.sessions.find(call.account, endpointOf(name), sessionId),
    })
  }

  async function endSession(call: Call, name: string | undefined): Promise<EndpointResponse> {
    const sessionId = headerOf(call.headers, 'mcp-session-id')
    if (sessionId === undefined) throw notAllowedError()
    options.upstreams.endSession(await options.sessions.end(call.account, endpointOf(name), sessionId))
    return { status: 204 }
  }

  const guard =
    (handle: (call: Call, name: string | undefined) => Promise<EndpointResponse>) =>
    async (call: unknown): Promise<EndpointResponse> => {
      // The cast is safe: the endpoints below are for users.
      const request = call as Call
      try {
        checkOrigin(request)
        const name = (request.params as { server?: string }).server
        serversOf(name)
        return await handle(request, name)
      } catch (error) {
        return toResponse(errorAnswer(undefined, error), error)
      }
    }

  const describe = (path: string, suffix: string, about: string) => {
    const common = {
      path,
      access: user(),
      tags: ['tools'],
      errorStyle: 'json-rpc',
      ...(path.includes('{') && {
        params: { server: Type.String({ maxLength: 128, description: 'Name of the tool server.' }) },
      }),
      errors: [...Object.keys(MCP_ERROR_CODES), 'method_not_allowed', 'endpoint_not_allowed', 'not_found'],
    } as const
    return [
      endpoint({
        ...common,
        method: 'POST',
        operationId: `send${suffix}Message`,
        summary: `Takes a message of the Model Context Protocol for ${about}.`,
        description:
          'Revisions 2026-07-28, and 2025-11-25 and 2025-06-18 for clients that begin with initialize. The ' +
          'errors of calls are JSON-RPC errors with status 200, and have the code of the error in data.code.',
        rawBody: { types: ['application/json'], maxBytes: options.maxRequestBytes },
        responses: {
          200: {
            description: 'The response to the request, in JSON or at the end of a stream.',
            text: TYPES,
          },
          202: { description: 'The notification or response was taken.' },
        },
        handle: guard(handleMessage),
      }),
      endpoint({
        ...common,
        method: 'GET',
        operationId: `listenTo${suffix}Notices`,
        summary: `Streams notices of changed lists of ${about} to a session.`,
        responses: {
          200: { description: 'The notices.', text: 'text/event-stream' },
        },
        handle: guard(openNotices),
      }),
      endpoint({
        ...common,
        method: 'DELETE',
        operationId: `end${suffix}Session`,
        summary: `Ends a session with ${about}.`,
        responses: {
          204: { description: 'The session has ended.' },
        },
        handle: guard(endSession),
      }),
    ]
  }
  return [
    ...describe('/mcp', 'Mcp', 'all tool servers of the caller'),
    ...describe('/mcp/{server}', 'McpServer', 'a tool server'),
  ]
}

const TYPES = ['application/json', 'text/event-stream']

const ACCEPTED: EndpointResponse = { status: 202, headers: { 'content-type': 'text/plain' }, body: '' }

function notAllowedError(): GatewayError {
  const message = 'Without the header Mcp-Session-Id, this path takes POST only.'
  return new GatewayError('method_not_allowed', message, { headers: { allow: 'POST' } })
}

const CANCELLED = new Error('The client has cancelled the request.')

function cancelName(sessionKey: string, id: unknown): string {
  return `cancel:${sessionKey}:${JSON.stringify(id)?.slice(0, 256)}`
}

function endpointOf(name: string | undefined): string {
  return name === undefined ? '/mcp' : `/mcp/${name}`
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : ''
}

function toResponse(answer: Answer | undefined, error: unknown): EndpointResponse {
  if (answer === undefined) throw error
  return {
    status: answer.status,
    headers: { 'content-type': 'application/json', ...answer.headers },
    body: answer.message,
  }
}
