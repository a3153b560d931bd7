import { createServer, IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { Logger } from 'pino'
import {
  buildSecurityHeaders,
  CheckedResponse,
  GatewayResponse,
  type HttpHeader,
  PlainResponse,
} from './default-headers.ts'
import { DEFAULT_SERVER_LIMITS, type ServerLimits, toNodeOptions } from './limits.ts'
import { createConnectionRejecter, pendingResponse, rejectOnClientError } from './reject-connection.ts'
import type { SocketServer } from './socket-server.ts'
import { createRequestClass } from './socket-upgrade.ts'
import { malformedRequestError, tunnelError, validateRequest } from './validate-request.ts'

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
}

/**
 * Creates an HTTP server that enforces the limits and passes on only requests that every HTTP implementation
 * interprets the same way.
 */
export function createHardenedServer(handle: RequestListener, options: ServerOptions): Server {
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
