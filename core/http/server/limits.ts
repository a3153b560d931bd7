import type { ServerOptions } from 'node:http'

/** Limits on what a client can make a server hold, and for how long. */
export interface ServerLimits {
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
export const DEFAULT_SERVER_LIMITS: ServerLimits = {
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
export function toNodeOptions({
  headersTimeoutMs,
  requestTimeoutMs,
  keepAliveTimeoutMs,
  maxHeaderBytes,
}: ServerLimits): ServerOptions {
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
