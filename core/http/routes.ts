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
import { lazy } from '../util/lazy.ts'
import { addAnthropicRequestId, toRoutePath } from './endpoints.ts'
import { pathNotFoundError } from './parse-call.ts'
import type { Step } from './steps.ts'

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
  /** Creates the router, which is otherwise created by the first request that needs it. */
  prepare(): void
}

interface Route {
  readonly owner: string
  readonly method: string
  readonly path: string
  readonly handle: GatewayMiddleware
}

/** Only parameters, and characters without a meaning in the notation of the router, between slashes. */
const PLAIN_PATH = /^(?:\/(?:[\w.~-]*|:[A-Za-z_]\w*))+$/

export function createRoutes(): Routes {
  const routes: Route[] = []
  const earlierRoutes = createRouteIndex()
  // Compiling the paths takes a tenth of a start, and inference requests do not need the router.
  const routers = lazy(() => createRouters(routes))
  const exactPaths = lazy(() => collectExactPaths(routes))

  return {
    add(owner, endpoint, handle) {
      const { method } = endpoint
      const route = { owner, method, path: toRoutePath(endpoint.path), handle }
      const earlier = earlierRoutes.find(route)
      if (earlier !== undefined)
        throw new Error(
          `${method} ${route.path} of ${owner} is unreachable, because ${earlier.owner} already serves ` +
            `${method} ${earlier.path}. Change one of the paths.`,
        )
      if (!PLAIN_PATH.test(route.path)) checkPath(route, endpoint.path)
      routes.push(route)
      earlierRoutes.add(route)
    },
    dispatch(ctx, next) {
      const own = exactPaths().get(ctx.path)
      if (own === undefined || own.methods.includes(ctx.method)) return routers().dispatch(ctx, next)
      // In `/v1/responses/compact`, `compact` is no id for the methods of `/v1/responses/{id}`.
      Object.assign(ctx, { matched: [own] })
      return next()
    },
    hasPath: (path) =>
      routers()
        .find(path)
        .stack.some((route) => route.match(path)),
    prepare: () => void routers(),
  }
}

/** Creates a router for each beginning of a path, since a router tries one route after the other. */
function createRouters(routes: readonly Route[]) {
  const beginningOf = (path: string) => path.split('/', 2)[1] ?? ''
  /** Undefined if the route may serve paths that begin otherwise. */
  const fixedBeginningOf = ({ path }: Route) =>
    PLAIN_PATH.test(path) && !path.startsWith('/:') ? beginningOf(path) : undefined
  const toRouter = (own: readonly Route[]) => {
    const router = createRouter(own)
    return { router, dispatch: router.routes() as unknown as GatewayMiddleware }
  }
  const routerOf = (beginning: string | undefined) =>
    toRouter(routes.filter((route) => [undefined, beginning].includes(fixedBeginningOf(route))))
  const others = routerOf(undefined)
  const fixed = new Set(routes.flatMap((route) => fixedBeginningOf(route) ?? []))
  const byBeginning = new Map([...fixed].map((beginning) => [beginning, routerOf(beginning)]))
  const find = (path: string) => byBeginning.get(beginningOf(path)) ?? others
  const dispatch: GatewayMiddleware = (ctx, next) => find(ctx.path).dispatch(ctx, next)
  return { dispatch, find: (path: string) => find(path).router }
}

/** Paths are exact: proxies in front of the gateway match them by letter case and trailing slash, too. */
function createRouter(routes: readonly Route[]): GatewayRouter {
  const router: GatewayRouter = new Router({ sensitive: true, strict: true })
  for (const { path, method, handle } of routes) router.register(path, [method], handle)
  return router
}

/** Methods of the paths without parameters, as the router reports them to `rejectUnmatched`. */
function collectExactPaths(routes: readonly Route[]): ReadonlyMap<string, MatchedRoute> {
  const exact = new Map<string, MatchedRoute>()
  for (const { path, method } of routes) {
    if (!PLAIN_PATH.test(path) || path.includes(':')) continue
    const methods = method === 'GET' ? ['HEAD', 'GET'] : [method]
    exact.set(path, { path, methods: [...(exact.get(path)?.methods ?? []), ...methods] })
  }
  return exact
}

/** Throws if the router cannot compile the path. */
function checkPath(route: Route, path: string): void {
  try {
    createRouter([route])
  } catch (cause) {
    const title = `${route.method} ${path}`
    throw new Error(`${route.owner} cannot serve ${title}: ${errorSummary(cause)}. Correct the path.`, {
      cause,
    })
  }
}

/** Finds the first route that matches everything that a later one would. */
function createRouteIndex() {
  /** Plain paths, split at slashes, by method and number of parts: others cannot match the same requests. */
  const plain = new Map<string, { readonly route: Route; readonly parts: readonly string[] }[]>()
  const others: Route[] = []
  const groupOf = ({ method }: Route, parts: readonly string[]) => `${method} ${parts.length}`

  return {
    add(route: Route): void {
      if (!PLAIN_PATH.test(route.path)) {
        others.push(route)
        return
      }
      const parts = route.path.split('/')
      const group = plain.get(groupOf(route, parts)) ?? []
      group.push({ route, parts })
      plain.set(groupOf(route, parts), group)
    },
    find(route: Route): Route | undefined {
      const parts = route.path.split('/')
      const earlier = plain.get(groupOf(route, parts))?.find((other) => hidesParts(other.parts, parts))
      return earlier?.route ?? others.find((other) => hides(other, route))
    },
  }
}

/** What a parameter matches includes `:name`. */
function hidesParts(earlier: readonly string[], parts: readonly string[]): boolean {
  return earlier.every(
    (part, index) => part === parts[index] || (part.startsWith(':') && parts[index] !== ''),
  )
}

/** As `hidesParts`, for an earlier path in the notation of the router. */
function hides(earlier: Route, { method, path }: Route): boolean {
  return earlier.method === method && createRouter([earlier]).stack[0]?.match(path) === true
}

/** A percent-encoded unreserved character: RFC 3986 makes it equivalent to the character itself. */
const ENCODED_UNRESERVED = /%(?:2[DE]|3\d|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])/gi

/** Decodes unreserved characters in the path, so that `/v1/%6dodels` is `/v1/models`. */
export const normalizePath: Step = (ctx) => {
  const { path } = ctx
  if (path.includes('%')) ctx.path = path.replace(ENCODED_UNRESERVED, decodeURIComponent)
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
): Step {
  function reject(ctx: GatewayContext): never {
    // Set by @koa/router, but missing from Koa's types.
    const { matched = [] } = ctx as { matched?: readonly MatchedRoute[] }
    const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].join(', ')
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

/** Paths of Azure OpenAI: of a deployment, of its newer API, and of its older one without a deployment. */
const DEPLOYMENT =
  /^\/openai\/deployments\/([^/]+)(\/(?:chat\/completions|completions|embeddings|responses))$/
const RESOURCE =
  /^\/openai(?:\/v1)?(\/(?:(?:chat\/)?completions|embeddings|moderations|(?:responses|models)(?:\/.*)?))$/

/**
 * Serves requests to paths of Azure OpenAI as those to OpenAI's: `/openai/deployments/gpt-4o/embeddings` is
 * `/v1/embeddings` with the model `gpt-4o`. It happens before anything looks at the path, so that the same
 * rules, restrictions and limits apply. The query parameter `api-version` has no meaning here. See
 * docs/decisions/http.md, "Paths of Azure OpenAI are rewritten before anything looks at them".
 */
export const rewriteAzurePath: Step = (ctx) => {
  if (!ctx.path.startsWith('/openai/')) return
  const [, deployment, path] = DEPLOYMENT.exec(ctx.path) ?? [
    undefined,
    undefined,
    RESOURCE.exec(ctx.path)?.[1],
  ]
  const model = deployment === undefined ? undefined : decode(deployment)
  if (path === undefined || (deployment !== undefined && model === undefined)) return
  if (model !== undefined) ctx.deployment = model
  ctx.path = `/v1${path}`
  const query = new URLSearchParams(ctx.querystring)
  query.delete('api-version')
  ctx.querystring = query.toString()
}

/** Undefined for a malformed encoding. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
