import type { Next } from 'koa'
import type { GatewayContext, GatewayMiddleware } from '../contract/index.ts'

export interface CorsSettings {
  /** Such as `https://app.example.com`; `*` is every origin. None: browsers on other origins are not let in. */
  readonly origins: readonly string[]
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\sA-Z]+$/

/** Undefined for `*` and what a browser sends as an origin; else what is allowed. */
export function findOriginIssue(text: string): string | undefined {
  if (text === '*' || ORIGIN.test(text)) return undefined
  return 'must be "*" or an origin such as https://app.example.com, in lower case and without a path'
}

const METHODS = 'GET, POST, PATCH, DELETE'

/** Headers of ours that scripts may read; a browser hides the others. */
const EXPOSED = [
  'etag',
  'retry-after',
  'x-model',
  'x-provider',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-request-id',
  'x-routing-mode',
].join(', ')

const PREFLIGHT_SECONDS = '600'

/** What `access-control-request-headers` may hold, so that it can be given back. */
const NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/

/**
 * Lets scripts of other origins call. A preflight is answered here, before anybody asks for a key, since browsers send it without.
 * Credentials are never allowed: keys come in a header that the script sets, and cookies mean nothing here.
 */
export function createCorsMiddleware({ origins }: CorsSettings): GatewayMiddleware {
  const anybody = origins.includes('*')
  const allowed = new Set(origins)
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    const { origin } = ctx.headers
    if (!anybody) ctx.vary('Origin')
    if (origin === undefined || !(anybody || allowed.has(origin))) return next()
    ctx.set('access-control-allow-origin', anybody ? '*' : origin)
    if (ctx.method === 'OPTIONS' && ctx.headers['access-control-request-method'] !== undefined) {
      answerPreflight(ctx)
      return
    }
    ctx.set('access-control-expose-headers', EXPOSED)
    await next()
  }
}

function answerPreflight(ctx: GatewayContext): void {
  const names = ctx.headers['access-control-request-headers']
  ctx.vary('Access-Control-Request-Headers')
  ctx.set('access-control-allow-methods', METHODS)
  if (names !== undefined && NAMES.test(names)) ctx.set('access-control-allow-headers', names)
  ctx.set('access-control-max-age', PREFLIGHT_SECONDS)
  ctx.status = 204
}
