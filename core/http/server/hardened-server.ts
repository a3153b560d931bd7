import { createServer, type RequestListener, type Server } from 'node:http'
import type { Logger } from 'pino'
import { buildSecurityHeaders, GatewayResponse, type HttpHeader } from './default-headers.ts'
import { DEFAULT_SERVER_LIMITS, type ServerLimits, toNodeOptions } from './limits.ts'
import { createConnectionRejecter, pendingResponse, rejectOnClientError } from './reject-connection.ts'
import { validateRequest } from './validate-request.ts'

export interface ServerOptions {
  readonly limits?: ServerLimits
  /** Of every answer. */
  readonly headers?: readonly HttpHeader[]
  readonly logger?: Logger
}

/** A server that keeps the limits, and hands on only requests that everybody reads alike. */
export function createHardenedServer(handle: RequestListener, options: ServerOptions): Server {
  const { limits = DEFAULT_SERVER_LIMITS, headers = buildSecurityHeaders(), logger } = options
  const refuse = createConnectionRejecter(headers, logger)
  const onEvery = headers.flat()
  const server = createServer(
    { ...toNodeOptions(limits), ServerResponse: GatewayResponse },
    (request, response) => {
      // Node reads on when a connection was refused: what comes behind such a request is not to be served.
      if (!request.socket.writable) return
      const fault = validateRequest(request, limits.maxHeaders)
      if (fault !== undefined) {
        refuse(request.socket, fault)
        return
      }
      response.setDefaultHeaders(onEvery)
      handle(request, response)
    },
  )
  // Of more than this Node tells nothing: one over the limit is enough to be found.
  server.maxHeadersCount = limits.maxHeaders + 1
  if (limits.maxConnections !== null) server.maxConnections = limits.maxConnections
  rejectOnClientError(server, refuse)
  destroyStalled(server, limits.writeTimeoutMs)
  logDroppedConnections(server, logger)
  return server
}

/** Cuts clients that take nothing of what waits for them. One who waits for us is left alone: Node's other clocks see to that. */
function destroyStalled(server: Server, stalledMs: number): void {
  server.timeout = stalledMs
  server.on('timeout', (socket) => {
    if (pendingResponse(socket) === undefined || socket.writableLength > 0) socket.destroy()
  })
}

const REPORT_MS = 60_000

/** One line a minute at most: a flood is not to fill the log. */
function logDroppedConnections(server: Server, logger: Logger | undefined): void {
  let reported = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - reported < REPORT_MS) return
    reported = performance.now()
    logger?.warn({ connections: server.maxConnections }, 'as many connections as allowed: others are dropped')
  })
}
