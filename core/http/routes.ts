import Router from '@koa/router'
import type { DefaultState } from 'koa'
import {
  type Admission,
  type EndpointDescription,
  type GatewayContext,
  GatewayError,
  type GatewayFields,
  type GatewayMiddleware,
} from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { API_KEY_PREFIX } from '../util/ids.ts'
import { addAnthropicRequestId, toRoutePath } from './endpoints.ts'
import { pathNotFoundError } from './parse-call.ts'

type GatewayRouter = Router<DefaultState, GatewayFields>

/** All routes of an application, in matching order. */
export interface Routes {
  /**
   * Adds a route of `owner`. Throws if it can never match, because an earlier one matches the same requests.
   */
  add(owner: string, endpoint: Pick<EndpointDescription, 'method' | 'path'>, handle: GatewayMiddleware): void
  /** Runs the route of the request, or the next middleware if there is none. */
  readonly dispatch: GatewayMiddleware
  /** Whether a route has the path, with any method. */
  hasPath(path: string): boolean
}

export function createRoutes(): Routes {
  // Paths are exact: proxies in front of the gateway match them by letter case and trailing slash, too.
  const router: GatewayRouter = new Router({ sensitive: true, strict: true })
  const owners = new Map<GatewayRouter['stack'][number], string>()

  function checkReachable(owner: string, method: string, path: string): void {
    for (const earlier of router.stack) {
      // Tests the route as if it were a path: what matches a parameter's value also matches its name (`:id`).
      if (!earlier.methods.includes(method) || !earlier.match(path)) continue
      throw new Error(
        `${method} ${path} of ${owner} is unreachable, because ${owners.get(earlier)} already serves ` +
          `${method} ${earlier.path}. Change one of the paths.`,
      )
    }
  }

  return {
    add(owner, endpoint, handle) {
      const path = toRoutePath(endpoint.path)
      checkReachable(owner, endpoint.method, path)
      try {
        router.register(path, [endpoint.method], handle)
      } catch (cause) {
        const title = `${endpoint.method} ${endpoint.path}`
        throw new Error(`${owner} cannot serve ${title}: ${errorSummary(cause)}. Correct the path.`, {
          cause,
        })
      }
      const route = router.stack.at(-1)
      if (route !== undefined) owners.set(route, owner)
    },
    dispatch: router.routes() as unknown as GatewayMiddleware,
    hasPath: (path) => router.stack.some((route) => route.match(path)),
  }
}

/** A percent-encoded unreserved character: RFC 3986 makes it equivalent to the character itself. */
const ENCODED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi

/** Decodes unreserved characters in the path, so that `/v1/%6dodels` is `/v1/models`. */
export const normalizePath: GatewayMiddleware = (ctx, next) => {
  if (ctx.path.includes('%')) ctx.path = ctx.path.replace(ENCODED_UNRESERVED, decodeURIComponent)
  return next()
}

/** True for the paths of Anthropic's API, whether something is served there or not. */
export function isAnthropicPath(path: string): boolean {
  return path.startsWith('/v1/messages')
}

interface MatchedRoute {
  readonly path: unknown
  readonly methods: readonly string[]
}

/**
 * Rejects requests without a route: 405 with `allow` if the path has other methods, or else 404. Requests
 * with an API key are admitted first, so that they count, and have the headers of the rate limit. See
 * docs/decisions/limits.md, "Unknown paths count, too".
 */
export function rejectUnmatched(
  { hasPath }: Pick<Routes, 'hasPath'>,
  admit: (request: Admission) => Promise<void>,
): GatewayMiddleware {
  function reject(ctx: GatewayContext): never {
    // Set by @koa/router, but missing from Koa's types.
    const { matched = [] } = ctx as { matched?: readonly MatchedRoute[] }
    // In `/v1/responses/compact`, `compact` is no id for the methods of `/v1/responses/{id}`.
    const own = matched.filter(({ path }) => path === ctx.path)
    const routes = own.length > 0 ? own : matched
    const allowed = [...new Set(routes.flatMap(({ methods }) => methods))].join(', ')
    if (allowed === '') throw pathNotFoundError(ctx.path, findIntendedPath(ctx.path, hasPath))
    const message = `${ctx.path} does not support ${ctx.method}. Supported methods: ${allowed}.`
    throw new GatewayError('method_not_allowed', message, { headers: { allow: allowed } })
  }

  return async (ctx) => {
    ctx.errorStyle = 'openai'
    if (isAnthropicPath(ctx.path)) {
      ctx.errorStyle = 'anthropic'
      addAnthropicRequestId(ctx)
    }
    if (hasUserKey(ctx)) await admit(ctx)
    reject(ctx)
  }
}

/** The keys of operators, and what other services take for a key, are checked by endpoints only. */
function hasUserKey({ headers }: Pick<Admission, 'headers'>): boolean {
  const { authorization, 'x-api-key': key, 'api-key': azureKey } = headers
  return [authorization?.replace(/^Bearer +/i, ''), key, azureKey].some((each) =>
    each?.toString().startsWith(API_KEY_PREFIX),
  )
}

/** OpenAI's clients expect a base URL with `/v1`, Anthropic's one without it. */
function findIntendedPath(path: string, hasPath: Routes['hasPath']): string | undefined {
  return [`/v1${path}`, path.replace(/^\/v1(?=\/v1\/)/, '')].find((it) => it !== path && hasPath(it))
}
