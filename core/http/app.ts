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
  readonly bodyLimit: number
  readonly cors: CorsSettings
  readonly logger: Logger
  readonly whyNotReady: () => string | undefined
  /** Whether the event log is followed or away. */
  readonly logState: () => string
}

/** The application of the main address: probes, inference endpoints, and the endpoints that plugins bring. */
export function createApp(parts: AppParts): Koa {
  const { steps } = parts
  const readBody = createBodyReader(parts.bodyLimit)
  const router: GatewayRouter = new Router()
  addProbeRoutes(router, parts)
  const endpoints = createRouteRegistry()
  const direct = new Map<string, GatewayMiddleware>()
  const addInference = (path: string, dialect: Dialect, isBuiltIn: boolean) => {
    const serve = inference(dialect, isBuiltIn, parts)
    direct.set(path, serve)
    router.post(path, serve)
  }
  addInference('/v1/chat/completions', chatDialect, true)
  endpoints.register('the gateway', router)
  for (const { plugin, parts: brought, isBuiltIn } of steps) {
    for (const [path, dialect] of Object.entries(brought.dialects ?? {}))
      addInference(path, dialect, isBuiltIn)
    endpoints.register(titleOf(plugin), router)
  }

  const app = createBaseApp(parts, router, direct)
  for (const { plugin, parts } of steps) {
    const shape = setErrorBody(parts.errorBody ?? errorEnvelope)
    const add = (addRoutes: typeof parts.routes, before: readonly GatewayMiddleware[]) => {
      if (addRoutes !== undefined) app.use(createPluginRouter(titleOf(plugin), addRoutes, before, endpoints))
    }
    add(parts.publicRoutes, [shape, readBody])
    add(parts.routes, [shape, ...composeChain('management', steps, [readBody])])
  }
  app.use(rejectUnmatched)
  return app
}

/** The application of the direct-routing address: probes and `POST /route`. */
export function createRouteApp(parts: AppParts): Koa {
  const router: GatewayRouter = new Router()
  addProbeRoutes(router, parts)
  const serve = inference(routeDialect, true, parts)
  router.post('/route', serve)
  const app = createBaseApp(parts, router, new Map([['/route', serve]]))
  app.use(rejectUnmatched)
  return app
}

/** One inference endpoint: the dialect's errors around the plugins' chain around the answer. */
function inference(
  dialect: Dialect,
  isBuiltIn: boolean,
  { steps, snapshotCaller, bodyLimit }: AppParts,
): GatewayMiddleware {
  const readRequest = [createBodyReader(bodyLimit), createExchangeReader(dialect, snapshotCaller)]
  const isWatched = !isBuiltIn || steps.some((step) => !step.isBuiltIn && step.parts.middleware !== undefined)
  // Composed once: the router would do it for every request.
  return compose([
    setErrorBody(dialect.errorBody),
    ...composeChain('inference', steps, readRequest),
    createReplySender(dialect, isWatched),
  ])
}

/** What every request of an address meets first. */
function createBaseApp(
  { steps, logger, cors }: AppParts,
  router: GatewayRouter,
  direct: ReadonlyMap<string, GatewayMiddleware>,
): Koa {
  const app = new UnwatchedKoa()
  logResponseErrors(app, logger)
  const observers = [logRequests(logger), ...steps.flatMap(({ parts }) => parts.observeRequest ?? [])]
  app.use(identifyRequest as Koa.Middleware)
  app.use(handleErrors(logger, notifyObservers(observers, logger)) as Koa.Middleware)
  if (cors.origins.length > 0) app.use(createCorsMiddleware(cors) as Koa.Middleware)
  app.use(serveDirectly(direct) as Koa.Middleware)
  app.use(router.routes() as Koa.Middleware)
  return app
}

/** The endpoints that nearly all requests are for. The router, which knows them too, would look at pattern after pattern first. */
function serveDirectly(endpoints: ReadonlyMap<string, GatewayMiddleware>): GatewayMiddleware {
  return (ctx, next) => {
    const serve = ctx.method === 'POST' ? endpoints.get(ctx.path) : undefined
    if (serve === undefined) return next()
    ctx.endpoint = ctx.path
    return serve(ctx, next)
  }
}

/** Every plugin gets a router of its own: what nested routers `use` would run before each other's routes, too. */
function createPluginRouter(
  owner: string,
  addRoutes: (router: GatewayRouter) => void,
  before: readonly GatewayMiddleware[],
  endpoints: RouteRegistry,
): Koa.Middleware {
  const router: GatewayRouter = new Router()
  router.use(...before)
  try {
    addRoutes(router)
  } catch (cause) {
    throw new Error(`${owner} could not add its endpoints: ${errorSummary(cause)}.`, { cause })
  }
  endpoints.register(owner, router)
  return router.routes() as Koa.Middleware
}

function titleOf({ name }: PluginStep['plugin']): string {
  return `plugin "${name}"`
}

/** 405 with `allow` for a path that is served with other methods, 404 for one that is not served at all. */
const rejectUnmatched: Koa.Middleware = (ctx) => {
  const served: readonly { methods: readonly string[] }[] = ctx.matched ?? []
  const allowed = [...new Set(served.flatMap(({ methods }) => methods))].join(', ')
  if (allowed === '')
    throw new GatewayError('not_found', `There is no ${ctx.path} here. See the documentation.`)
  throw new GatewayError(
    'method_not_allowed',
    `${ctx.path} does not take ${ctx.method}. It takes ${allowed}.`,
    {
      headers: { allow: allowed },
    },
  )
}
