import {
  createServer,
  IncomingMessage,
  type ServerOptions as NodeServerOptions,
  type RequestListener,
  type Server,
} from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type Koa from 'koa'
import type { Logger } from 'pino'
import {
  buildSecurityHeaders,
  CheckedResponse,
  GatewayResponse,
  type HttpHeader,
  PlainResponse,
} from './default-headers.ts'
import {
  createConnectionRejecter,
  createRequestClass,
  malformedRequestError,
  pendingResponse,
  rejectOnClientError,
  tunnelError,
  validateRequest,
} from './reject-connection.ts'
import type { SocketServer } from './socket-server.ts'

/** Limits on what a client can make a server hold, and for how long. */
interface ServerLimits {
  /** Time to receive the request headers, from opening the connection or from the request's first byte. */
  readonly headersTimeoutMs: number
  /** Time to receive the whole request, including the body. The response may take longer. */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept open between two requests. */
  readonly keepAliveTimeoutMs: number
  /** How long a client may leave response data unread. It is disconnected within twice this time. */
  readonly writeTimeoutMs: number
  /** Maximum size of all request headers together. */
  readonly maxHeaderBytes: number
  /** Maximum number of request headers. */
  readonly maxHeaders: number
  /** Maximum number of open connections of this server; null is unlimited. */
  readonly maxConnections: number | null
}

/** Limits of servers that only operators reach, such as the metrics endpoint. */
const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  writeTimeoutMs: 60_000,
  maxHeaderBytes: 16_384,
  maxHeaders: 100,
  maxConnections: null,
}

/** Interval at which Node checks for requests that exceed their timeouts. */
const TIMEOUT_CHECK_INTERVAL_MS = 1000

/** Sets every option that a command-line flag of Node could change, so that no flag weakens the server. */
function toNodeOptions({
  headersTimeoutMs,
  requestTimeoutMs,
  keepAliveTimeoutMs,
  maxHeaderBytes,
}: ServerLimits): NodeServerOptions {
  return {
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
    // Node throws if the headers timeout exceeds the request timeout.
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    // `validateRequest` checks the Host header instead, so that the response has the gateway's error format.
    requireHostHeader: false,
  }
}

export interface ServerOptions {
  readonly limits?: ServerLimits
  /** Headers of every response. */
  readonly headers?: readonly HttpHeader[]
  readonly logger?: Logger
  /** True if third-party middleware may read and change headers of responses before they are sent. */
  readonly exposesHeaders?: boolean
  /** True if plugin packages may set headers. */
  readonly checksHeaders?: boolean
  /** Default: requests for an upgrade are answered as if without. */
  readonly sockets?: SocketServer
  /** Called when a drain does not wait any longer for the requests in flight. */
  readonly interruptRequests?: () => void
  /** The environment variable that sets the port, for the error if the port is in use. */
  readonly portVariable?: string
}

/**
 * Creates an HTTP server that enforces the limits and passes on only requests that every HTTP implementation
 * interprets the same way.
 */
function createHardenedServer(handle: RequestListener, options: ServerOptions): Server {
  const { limits = DEFAULT_SERVER_LIMITS, headers = buildSecurityHeaders(), logger, sockets } = options
  const OwnResponse = options.checksHeaders ? CheckedResponse : GatewayResponse
  const Response = options.exposesHeaders ? PlainResponse : OwnResponse
  const rejecter = createConnectionRejecter(headers, logger)
  const defaultHeaders = headers.flat()
  const rejectInvalid = (request: IncomingMessage): boolean => {
    // Node continues parsing a rejected connection. Requests behind a rejected one must not be served.
    if (!request.socket.writable || rejecter.isRejected(request.socket)) return true
    const error = validateRequest(request, limits.maxHeaders)
    if (error !== undefined) rejecter.reject(request.socket, error, request)
    return error !== undefined
  }
  const respond = (request: IncomingMessage, response: GatewayResponse | PlainResponse) => {
    response.setDefaultHeaders(defaultHeaders)
    handle(request, response)
  }
  const serve = (request: IncomingMessage, response: InstanceType<typeof Response>) => {
    if (!rejectInvalid(request)) respond(request, response)
  }
  const Request = sockets ? createRequestClass(sockets.isSocketPath) : IncomingMessage
  const server = createServer(
    { ...toNodeOptions(limits), IncomingMessage: Request, ServerResponse: Response },
    serve,
  )
  // 100 (Continue) is sent when the body is read: not to callers that are not admitted.
  server.on('checkContinue', serve)
  server.on('checkExpectation', serve)
  server.on('connect', (request, socket) => rejecter.reject(socket, tunnelError(), request))
  if (sockets !== undefined)
    server.on('upgrade', (request, socket, head) => {
      if (rejectInvalid(request)) return
      if (pendingResponse(socket) === undefined)
        sockets.accept({ request, socket, head }, respond, rejecter.reject)
      else
        rejecter.reject(socket, malformedRequestError('an upgrade follows a response in progress'), request)
    })
  // Node silently drops headers beyond this count. One more than allowed is enough to detect the excess.
  server.maxHeadersCount = limits.maxHeaders + 1
  if (limits.maxConnections !== null) server.maxConnections = limits.maxConnections
  rejectOnClientError(server, rejecter)
  destroyStalledConnections(server, limits.writeTimeoutMs)
  logDroppedConnections(server, logger)
  return server
}

/**
 * Destroys connections whose client does not read a response that is waiting to be sent. Clients that wait
 * for the gateway are kept; Node's own timeouts cover slow requests.
 */
function destroyStalledConnections(server: Server, writeTimeoutMs: number): void {
  server.timeout = writeTimeoutMs
  server.on('timeout', (socket) => {
    if (pendingResponse(socket) === undefined || socket.writableLength > 0) socket.destroy()
  })
}

/** Minimum time between two log lines about dropped connections, so that a flood does not fill the log. */
const DROP_LOG_INTERVAL_MS = 60_000

function logDroppedConnections(server: Server, logger: Logger | undefined): void {
  let lastLoggedAt = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - lastLoggedAt < DROP_LOG_INTERVAL_MS) return
    lastLoggedAt = performance.now()
    logger?.warn({ connections: server.maxConnections }, 'connection limit reached; dropping new connections')
  })
}

/**
 * Stops accepting connections and resolves once the last one is closed.
 *
 * Responses from now on carry `connection: close`. Idle connections stay open for `lingerMs` (default 0), at
 * most for the keep-alive timeout. After that time they are closed, and requests in flight have another
 * `graceMs` to finish. Then they are interrupted, and connections whose responses do not end soon are
 * destroyed. Calling it again can only shorten both times.
 */
type Drain = (graceMs: number, lingerMs?: number) => Promise<void>

/** Added to the keep-alive timeout, so that idle connections can time out on their own first. */
const KEEP_ALIVE_MARGIN_MS = 1000

/**
 * How long interrupted requests have to end, in milliseconds. Longer than a connection stays open behind a
 * response that is incomplete.
 */
const INTERRUPTED_MS = 4000

/** Interval at which connections whose last response has ended are closed; only while draining. */
const SWEEP_INTERVAL_MS = 50

/**
 * Creates the drain function of a server. Call it before the server has accepted a connection. See
 * docs/decisions/cluster.md, "Idle connections survive a rolling restart".
 */
function createDrain(server: Server, webSockets?: { drain(): void }, interruptRequests?: () => void): Drain {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const timers: NodeJS.Timeout[] = []
  let closed: Promise<void> | undefined
  let isClosed = false

  async function close(): Promise<void> {
    webSockets?.drain()
    server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'))
    await new Promise<void>((resolve) => {
      // http.Server.close would also close connections that are still sending a finished response.
      NetServer.prototype.close.call(server, () => resolve())
    })
    isClosed = true
    for (const timer of timers) clearInterval(timer)
  }

  function sweep(): void {
    // Clients open connections in advance. Node does not count a connection without any data as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    // Node counts a connection as idle once its response has ended, even if the client is still receiving it.
    const isSending = [...sockets].some(({ writableLength }) => writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }

  function closeAll(): void {
    server.closeAllConnections()
    // Those of WebSockets are no longer the server's.
    for (const socket of sockets) socket.destroy()
  }

  return (graceMs, lingerMs = 0) => {
    closed ??= close()
    if (isClosed) return closed
    const idleMs = Math.min(lingerMs, server.keepAliveTimeout + KEEP_ALIVE_MARGIN_MS)
    const startSweeping = () => {
      sweep()
      timers.push(setInterval(sweep, SWEEP_INTERVAL_MS))
    }
    const endMs = idleMs + graceMs
    if (interruptRequests !== undefined) timers.push(setTimeout(interruptRequests, endMs))
    const closeMs = interruptRequests === undefined ? endMs : endMs + INTERRUPTED_MS
    timers.push(setTimeout(startSweeping, idleMs), setTimeout(closeAll, closeMs))
    return closed
  }
}

/** A listening server that can shut down gracefully. */
export interface Listener {
  /** `http://host:port` with the actual port, also if port 0 was requested. */
  readonly url: string
  readonly stop: Drain
}

/**
 * Starts a server for the application. Rejects if the address cannot be bound. Port 0 selects a free port.
 */
export async function listen(
  app: Koa,
  host: string,
  port: number,
  options: ServerOptions = {},
): Promise<Listener> {
  const server = createHardenedServer(app.callback(), options)
  const stop = createDrain(server, options.sockets, options.interruptRequests)
  await bind(server, host, port, options.portVariable)
  const { port: actualPort } = server.address() as AddressInfo
  const urlHost = host.includes(':') ? `[${host}]` : host
  return { url: `http://${urlHost}:${actualPort}`, stop }
}

function bind(server: Server, host: string, port: number, portVariable?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      reject(toListenError(error, `${host}:${port}`, portVariable))
    }
    server.once('error', onError)
    server.listen(port, host, () => {
      server.off('error', onError)
      resolve()
    })
  })
}

function toListenError(error: NodeJS.ErrnoException, address: string, portVariable?: string): Error {
  if (error.code !== 'EADDRINUSE') return error
  const remedy = portVariable ? `set ${portVariable} to another port` : 'choose another port'
  const message = `${address} is already in use. Stop the other process, or ${remedy}.`
  return new Error(message, { cause: error })
}
