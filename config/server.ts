import type { Logger } from 'pino'
import type { ServerOptions } from '../core/http/guarded-server.ts'
import { listSecurityHeaders } from '../core/http/security-headers.ts'
import type { Settings } from './settings.ts'

/** How the addresses for clients are served. */
export function describeServer(settings: Settings, logger: Logger): ServerOptions {
  const { timeouts, limits } = settings
  return {
    limits: {
      headersMs: timeouts.headers_ms,
      requestMs: timeouts.request_ms,
      keepAliveMs: timeouts.keep_alive_ms,
      stalledMs: timeouts.stalled_ms,
      headerBytes: limits.header_bytes,
      headers: limits.headers,
      connections: limits.connections,
    },
    headers: listSecurityHeaders(settings.hsts_seconds),
    logger,
  }
}
