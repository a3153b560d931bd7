import type { ServerOptions } from 'node:http'

/** What one client may make a server hold, and for how long. */
export interface ServerLimits {
  /** Until the head of a request is there, from the opening of the connection or the request's first byte. */
  readonly headersMs: number
  /** Until the whole request is there, body included. Answers may take longer. */
  readonly requestMs: number
  /** How long a connection is kept open between two requests. */
  readonly keepAliveMs: number
  /** How long a client may take nothing of an answer that waits for it; then it is cut within as long again. */
  readonly stalledMs: number
  readonly headerBytes: number
  readonly headers: number
  /** Open connections of this server; null is no limit. */
  readonly connections: number | null
}

/** Of a server that is for operators. */
export const DEFAULT_LIMITS: ServerLimits = {
  headersMs: 10_000,
  requestMs: 120_000,
  keepAliveMs: 65_000,
  stalledMs: 60_000,
  headerBytes: 16_384,
  headers: 100,
  connections: null,
}

/** How often Node looks for requests that are over their time. */
const CHECK_MS = 1000

/** Everything that flags of the process could change is said, so that none of them does. */
export function toNodeOptions({
  headersMs,
  requestMs,
  keepAliveMs,
  headerBytes,
}: ServerLimits): ServerOptions {
  return {
    insecureHTTPParser: false,
    maxHeaderSize: headerBytes,
    // Node refuses to start with a head that may take longer than the whole.
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: CHECK_MS,
    // Looked for with the other faults, so that it is answered like them.
    requireHostHeader: false,
  }
}
