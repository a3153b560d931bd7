import type { ServerOptions } from 'node:http'

/** What one client may make a server hold, and for how long. */
export interface ServerLimits {
  /** Until the head of a request is there, from the opening of the connection or the request's first byte. */
  readonly headersTimeoutMs: number
  /** Until the whole request is there, body included. Answers may take longer. */
  readonly requestTimeoutMs: number
  /** How long a connection is kept open between two requests. */
  readonly keepAliveTimeoutMs: number
  /** How long a client may take nothing of an answer that waits for it; then it is cut within as long again. */
  readonly writeTimeoutMs: number
  readonly maxHeaderBytes: number
  readonly maxHeaders: number
  /** Open connections of this server; null is no limit. */
  readonly maxConnections: number | null
}

/** Of a server that is for operators. */
export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 120_000,
  keepAliveTimeoutMs: 65_000,
  writeTimeoutMs: 60_000,
  maxHeaderBytes: 16_384,
  maxHeaders: 100,
  maxConnections: null,
}

/** How often Node looks for requests that are over their time. */
const CHECK_MS = 1000

/** Everything that flags of the process could change is said, so that none of them does. */
export function toNodeOptions({
  headersTimeoutMs,
  requestTimeoutMs,
  keepAliveTimeoutMs,
  maxHeaderBytes,
}: ServerLimits): ServerOptions {
  return {
    insecureHTTPParser: false,
    maxHeaderSize: maxHeaderBytes,
    // Node refuses to start with a head that may take longer than the whole.
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
    // Looked for with the other faults, so that it is answered like them.
    requireHostHeader: false,
  }
}
