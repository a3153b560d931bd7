import { createServer, type RequestListener, type Server } from 'node:http'
import type { Logger } from 'pino'
import { findFault } from './find-fault.ts'
import { GatewayResponse } from './gateway-response.ts'
import { answerOn, createRefuse, refuseFaulty } from './refuse-connection.ts'
import { type Header, listSecurityHeaders } from './security-headers.ts'
import { nodeOptions, type ServerLimits, USUAL_LIMITS } from './server-limits.ts'

export interface ServeOptions {
  readonly limits?: ServerLimits
  /** Of every answer. */
  readonly headers?: readonly Header[]
  readonly logger?: Logger
}

/** A server that keeps the limits, and hands on only requests that everybody reads alike. */
export function createGuardedServer(handle: RequestListener, options: ServeOptions): Server {
  const { limits = USUAL_LIMITS, headers = listSecurityHeaders(), logger } = options
  const refuse = createRefuse(headers, logger)
  const onEvery = headers.flat()
  const server = createServer(
    { ...nodeOptions(limits), ServerResponse: GatewayResponse },
    (request, response) => {
      // Node reads on when a connection was refused: what comes behind such a request is not to be served.
      if (!request.socket.writable) return
      const fault = findFault(request, limits.headers)
      if (fault !== undefined) {
        refuse(request.socket, fault)
        return
      }
      response.beginWith(onEvery)
      handle(request, response)
    },
  )
  // Of more than this Node tells nothing: one over the limit is enough to be found.
  server.maxHeadersCount = limits.headers + 1
  if (limits.connections !== null) server.maxConnections = limits.connections
  refuseFaulty(server, refuse)
  cutStalled(server, limits.stalledMs)
  reportDrops(server, logger)
  return server
}

/** Cuts clients that take nothing of what waits for them. One who waits for us is left alone: Node's other clocks see to that. */
function cutStalled(server: Server, stalledMs: number): void {
  server.timeout = stalledMs
  server.on('timeout', (socket) => {
    if (answerOn(socket) === undefined || socket.writableLength > 0) socket.destroy()
  })
}

const REPORT_MS = 60_000

/** One line a minute at most: a flood is not to fill the log. */
function reportDrops(server: Server, logger: Logger | undefined): void {
  let reported = Number.NEGATIVE_INFINITY
  server.on('drop', () => {
    if (performance.now() - reported < REPORT_MS) return
    reported = performance.now()
    logger?.warn({ connections: server.maxConnections }, 'as many connections as allowed: others are dropped')
  })
}
