import Router from '@koa/router'
import Koa from 'koa'
import type { Logger } from 'pino'
import { type Dialect, GatewayError, type GatewayMiddleware, type GatewayRouter } from '../contract/index.ts'
import { chatDialect } from '../dialects/chat/dialect.ts'
import { routeDialect } from '../dialects/route/dialect.ts'
import { identifyRequest } from '../http/client-connection.ts'
import { type CorsSettings, createCorsMiddleware } from '../http/cors.ts'
import { errorEnvelope, handleErrors, logResponseErrors, setErrorBody } from '../http/errors.ts'
import { addProbeRoutes } from '../http/probes.ts'
import { createBodyReader } from '../http/read-body.ts'
import { logRequests, notifyObservers } from '../http/request-observers.ts'
import { createRouteRegistry, type RouteRegistry } from '../http/route-registry.ts'
import { errorSummary } from '../util/error-message.ts'
import { composeAdmission, hasThirdPartyMiddleware } from './admission.ts'
import { composeInference, type InferenceParts } from './inference.ts'
import type { PluginStep } from './set-up.ts'

export interface AppParts extends InferenceParts {
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
  const addInferenceRoute = (path: string, dialect: Dialect) => {
    const handle = composeInference(dialect, parts)
    inferenceRoutes.set(path, handle)
    router.post(path, handle)
  }
  addInferenceRoute('/v1/chat/completions', chatDialect)
  registry.register('the gateway', router)
  for (const { plugin, parts: pluginParts } of steps) {
    for (const [path, dialect] of Object.entries(pluginParts.dialects ?? {})) addInferenceRoute(path, dialect)
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
    add(pluginParts.routes, [errorBody, ...composeAdmission(steps), readBody])
  }
  app.use(rejectUnmatched)
  return app
}

/** Creates the direct-routing application: probes and `POST /route`. */
export function createRouteApp(parts: AppParts): Koa {
  const router: GatewayRouter = new Router()
  addProbeRoutes(router, parts)
  const handle = composeInference(routeDialect, parts)
  router.post('/route', handle)
  const app = createBaseApp(parts, router, new Map([['/route', handle]]))
  app.use(rejectUnmatched)
  return app
}

/** Creates an application with the middleware that every request passes first, and the given routes. */
function createBaseApp(
  { steps, logger, cors }: AppParts,
  router: GatewayRouter,
  inferenceRoutes: ReadonlyMap<string, GatewayMiddleware>,
): Koa {
  const app = new Koa()
  logResponseErrors(app, logger)
  const observers = [logRequests(logger), ...steps.flatMap(({ parts }) => parts.observe ?? [])]
  app.use(identifyRequest as Koa.Middleware)
  app.use(handleErrors(logger, notifyObservers(observers, logger)) as Koa.Middleware)
  if (cors.origins.length > 0) app.use(createCorsMiddleware(cors) as Koa.Middleware)
  // Third-party middleware expects the fields that the router sets on the context.
  if (!hasThirdPartyMiddleware(steps)) app.use(dispatchInference(inferenceRoutes) as Koa.Middleware)
  app.use(router.routes() as Koa.Middleware)
  return app
}

/**
 * Dispatches inference requests by exact path. They are nearly all of the traffic, and the router, which
 * knows these paths too, would try one pattern after the other.
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
