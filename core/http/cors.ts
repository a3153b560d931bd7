import type { Next } from 'koa'
import type { GatewayContext, GatewayMiddleware } from '../contract/index.ts'

export interface CorsSettings {
  /** Allowed origins such as `https://app.example.com`; `*` allows every origin. Empty disables CORS. */
  readonly origins: readonly string[]
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\sA-Z]+$/

/** Returns undefined for `*` and for an origin as browsers send it, otherwise the issue. */
export function findOriginIssue(text: string): string | undefined {
  if (text === '*' || ORIGIN.test(text)) return undefined
  return 'must be "*" or an origin such as https://app.example.com, in lower case and without a path'
}

const ALLOWED_METHODS = 'GET, POST, PATCH, DELETE'

/** Response headers that scripts may read; browsers hide all others. */
const EXPOSED_HEADERS = [
  'etag',
  'request-id',
  'retry-after',
  'x-cache',
  'x-deployment',
  'x-model',
  'x-provider',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-request-id',
  'x-routing-mode',
  'x-signalbox-overhead-ms',
].join(', ')

/** How long browsers may cache the response to a preflight request. */
const PREFLIGHT_MAX_AGE_SECONDS = '600'

/** A valid list of header names: only such a value of `access-control-request-headers` is echoed. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Creates middleware that allows cross-origin requests. It answers preflight requests itself, ahead of
 * authentication, because browsers send them without the API key. Credentials are never allowed: keys arrive
 * in a header that the script sets, and the cookie of the console is for its own origin only.
 */
export function createCorsMiddleware({ origins }: CorsSettings): GatewayMiddleware {
  const allowsAnyOrigin = origins.includes('*')
  const allowed = new Set(origins)
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    const { origin } = ctx.headers
    if (!allowsAnyOrigin) ctx.vary('Origin')
    if (origin === undefined || !(allowsAnyOrigin || allowed.has(origin))) return next()
    ctx.set('access-control-allow-origin', allowsAnyOrigin ? '*' : origin)
    if (ctx.method === 'OPTIONS' && ctx.headers['access-control-request-method'] !== undefined) {
      respondToPreflight(ctx)
      return
    }
    ctx.set('access-control-expose-headers', EXPOSED_HEADERS)
    await next()
  }
}

function respondToPreflight(ctx: GatewayContext): void {
  const names = ctx.headers['access-control-request-headers']
  ctx.vary('Access-Control-Request-Headers')
  ctx.set('access-control-allow-methods', ALLOWED_METHODS)
  if (names !== undefined && HEADER_NAMES.test(names)) ctx.set('access-control-allow-headers', names)
  ctx.set('access-control-max-age', PREFLIGHT_MAX_AGE_SECONDS)
  ctx.status = 204
}
