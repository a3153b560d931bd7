import Router from '@koa/router'
import type Koa from 'koa'
import compose from 'koa-compose'
import type { Logger } from 'pino'
import {
  type Account,
  type Dialect,
  GatewayError,
  type GatewayMiddleware,
  type GatewayRouter,
} from '../contract/index.ts'
import { chatDialect } from '../dialects/chat/dialect.ts'
import { routeDialect } from '../dialects/route/dialect.ts'
import { composeChain } from '../pipeline/chain.ts'
import type { PluginStep } from '../pipeline/set-up.ts'
import { errorSummary } from '../util/error-message.ts'
import { identifyRequest } from './client-connection.ts'
import { type CorsSettings, createCorsMiddleware } from './cors.ts'
import { errorEnvelope, handleErrors, logResponseErrors, setErrorBody } from './errors.ts'
import { type CallerSnapshot, createExchangeReader, createReplySender } from './inference.ts'
import { addProbeRoutes } from './probes.ts'
import { createBodyReader } from './read-body.ts'
import { logRequests, notifyObservers } from './request-observers.ts'
import { createRouteRegistry, type RouteRegistry } from './route-registry.ts'
import { UnwatchedKoa } from './unwatched-koa.ts'

export interface AppParts {
  readonly steps: readonly PluginStep[]
  readonly snapshotCaller: (account: Account) => CallerSnapshot
  /** Maximum size of a request body, in bytes. */
  readonly bodyLimit: number
  readonly cors: CorsSettings
  readonly logger: Logger
  /** Returns why the process must not receive traffic; undefined if it may. */
  readonly whyNotReady: () => string | undefined
  /** State of the subscription to the event log, as `/readyz` shows it. */
  readonly logState: () => string
}

/** Creates the main application: probes, inference endpoints and the endpoints of the plugins. */
export function createApp(parts: AppParts): Koa {
  const { steps } = parts
  const readBody = createBodyReader(parts.bodyLimit)
  const router: GatewayRouter = new Router()
  addProbeRoutes(router, parts)
  const registry = createRouteRegistry()
  const inferenceRoutes = new Map<string, GatewayMiddleware>()
  const addInferenceRoute = (path: string, dialect: Dialect, isBuiltIn: boolean) => {
    const handle = composeInference(dialect, isBuiltIn, parts)
    inferenceRoutes.set(path, handle)
    router.post(path, handle)
  }
  addInferenceRoute('/v1/chat/completions', chatDialect, true)
  registry.register('the gateway', router)
  for (const { plugin, parts: pluginParts, isBuiltIn } of steps) {
    for (const [path, dialect] of Object.entries(pluginParts.dialects ?? {}))
      addInferenceRoute(path, dialect, isBuiltIn)
    registry.register(titleOf(plugin), router)
  }

  const app = createBaseApp(parts, router, inferenceRoutes)
  for (const { plugin, parts: pluginParts } of steps) {
    const errorBody = setErrorBody(pluginParts.errorBody ?? errorEnvelope)
    const add = (addRoutes: typeof pluginParts.routes, middleware: readonly GatewayMiddleware[]) => {
      if (addRoutes !== undefined)
        app.use(createPluginRouter(titleOf(plugin), addRoutes, middleware, registry))
    }
    add(pluginParts.publicRoutes, [errorBody, readBody])
    add(pluginParts.routes, [errorBody, ...composeChain('management', steps, [readBody])])
  }
  app.use(rejectUnmatched)
  return app
}

/** Creates the direct-routing application: probes and `POST /route`. */
export function createRouteApp(parts: AppParts): Koa {
  const router: GatewayRouter = new Router()
  addProbeRoutes(router, parts)
  const handle = composeInference(routeDialect, true, parts)
  router.post('/route', handle)
  const app = createBaseApp(parts, router, new Map([['/route', handle]]))
  app.use(rejectUnmatched)
  return app
}

/**
 * Composes the middleware of one inference endpoint: error format, plugin chain, reply. Composed once here,
 * because the router would compose it again for every request.
 */
function composeInference(
  dialect: Dialect,
  isBuiltIn: boolean,
  { steps, snapshotCaller, bodyLimit }: AppParts,
): GatewayMiddleware {
  const readRequest = [createBodyReader(bodyLimit), createExchangeReader(dialect, snapshotCaller)]
  const hasExternalCode =
    !isBuiltIn || steps.some((step) => !step.isBuiltIn && step.parts.middleware !== undefined)
  return compose([
    setErrorBody(dialect.errorBody),
    ...composeChain('inference', steps, readRequest),
    createReplySender(dialect, hasExternalCode),
  ])
}

/** Creates an application with the middleware that every request passes first, and the given routes. */
function createBaseApp(
  { steps, logger, cors }: AppParts,
  router: GatewayRouter,
  inferenceRoutes: ReadonlyMap<string, GatewayMiddleware>,
): Koa {
  const app = new UnwatchedKoa()
  logResponseErrors(app, logger)
  const observers = [logRequests(logger), ...steps.flatMap(({ parts }) => parts.observeRequest ?? [])]
  app.use(identifyRequest as Koa.Middleware)
  app.use(handleErrors(logger, notifyObservers(observers, logger)) as Koa.Middleware)
  if (cors.origins.length > 0) app.use(createCorsMiddleware(cors) as Koa.Middleware)
  app.use(dispatchInference(inferenceRoutes) as Koa.Middleware)
  app.use(router.routes() as Koa.Middleware)
  return app
}

/**
 * Dispatches inference requests by exact path. They are nearly all of the traffic, and the router, which
 * knows these paths too, would try one pattern after the other. See docs/decisions/http.md, "Common requests
 * take a short path, unusual ones the libraries' own".
 */
function dispatchInference(routes: ReadonlyMap<string, GatewayMiddleware>): GatewayMiddleware {
  return (ctx, next) => {
    const handle = ctx.method === 'POST' ? routes.get(ctx.path) : undefined
    if (handle === undefined) return next()
    ctx.endpoint = ctx.path
    return handle(ctx, next)
  }
}

/**
 * Creates a separate router for each plugin. With nested routers, middleware added with `use` would also run
 * before the routes of the other routers.
 */
function createPluginRouter(
  owner: string,
  addRoutes: (router: GatewayRouter) => void,
  middleware: readonly GatewayMiddleware[],
  registry: RouteRegistry,
): Koa.Middleware {
  const router: GatewayRouter = new Router()
  router.use(...middleware)
  try {
    addRoutes(router)
  } catch (cause) {
    throw new Error(`${owner} failed to add its endpoints: ${errorSummary(cause)}.`, { cause })
  }
  registry.register(owner, router)
  return router.routes() as Koa.Middleware
}

/** Returns the plugin's name as error messages show it. */
function titleOf({ name }: PluginStep['plugin']): string {
  return `plugin "${name}"`
}

/** Answers 405 with `allow` if other methods exist for the path, otherwise 404. */
const rejectUnmatched: Koa.Middleware = (ctx) => {
  const matched: readonly { methods: readonly string[] }[] = ctx.matched ?? []
  const allowed = [...new Set(matched.flatMap(({ methods }) => methods))].join(', ')
  if (allowed === '') {
    const message = `There is no endpoint at ${ctx.path}. Check the path and the base URL.`
    throw new GatewayError('not_found', message)
  }
  const message = `${ctx.path} does not support ${ctx.method}. Supported methods: ${allowed}.`
  throw new GatewayError('method_not_allowed', message, { headers: { allow: allowed } })
}
