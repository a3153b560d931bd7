import type { IncomingHttpHeaders } from 'node:http'
import type Koa from 'koa'
import type { Logger } from 'pino'
import { type EndpointDescription, GatewayError, type GatewayMiddleware } from '../contract/index.ts'
import type { FindKnownRequest } from '../http/change-headers.ts'
import { identifyRequests, type RequestsInFlight } from '../http/client-connection.ts'
import { type CorsSettings, createCorsMiddleware } from '../http/cors.ts'
import { type AuthenticateOperator, composeEndpoint, type RecordRead } from '../http/endpoints.ts'
import { createLogReplacedError, handleErrors, logResponseErrors } from '../http/errors.ts'
import { GatewayApp } from '../http/gateway-app.ts'
import { createProbes, PROBES, type Readiness } from '../http/probes.ts'
import { createBodyReader, createRawBodyReader } from '../http/read-body.ts'
import { logRequests, notifyObservers } from '../http/request-observers.ts'
import {
  createRoutes,
  isAnthropicPath,
  normalizePath,
  type Routes,
  rejectUnmatched,
  rewriteAzurePath,
} from '../http/routes.ts'
import { installLazyBodies, isBodyLazy, sendLazyBody } from '../http/send-response.ts'
import { composeStages, middlewareStage, type Stage, type Step, toMiddleware } from '../http/steps.ts'
import { composeAdmission, composeUnmatchedAdmission, hasThirdPartyMiddleware } from './admission.ts'
import { toError } from './guard-phase.ts'
import { composeInference, type InferenceParts } from './inference.ts'
import { collectErrorCodes, listInferenceEndpoints } from './served-endpoints.ts'

export interface AppParts extends InferenceParts, Readiness {
  readonly cors: CorsSettings
  readonly logger: Logger
  readonly authenticateOperator: AuthenticateOperator
  /** Whether anybody can call endpoints for operators, which otherwise only say how to have an operator. */
  readonly hasOperators: () => boolean
  readonly recordRead: RecordRead
  readonly findKnownRequest: FindKnownRequest
  readonly requests: RequestsInFlight
  /**
   * Whether a client, by its request headers, reads the message of an error in `detail`. Default: none does.
   */
  readonly readsDetail?: (headers: IncomingHttpHeaders) => boolean
  /** Runs a function soon after the gateway serves: what a first request needs, but the start does not. */
  readonly onceServing: (prepare: () => void) => void
}

type Listener = NonNullable<EndpointDescription['listener']>

/** Creates the main application: probes and the endpoints of the plugins. */
export function createApp(parts: AppParts): Koa {
  return createBaseApp(parts, 'main')
}

/** Creates the direct-routing application: probes and `POST /route`. */
export function createRouteApp(parts: AppParts): Koa {
  return createBaseApp(parts, 'direct')
}

/** Creates an application with the endpoints of one listener. */
function createBaseApp(parts: AppParts, listener: Listener): Koa {
  const { steps, logger, cors } = parts
  const hasMiddleware = hasThirdPartyMiddleware(steps)
  const observers = [logRequests(logger), ...steps.flatMap(({ parts }) => parts.observe ?? [])]
  const onHandled = notifyObservers(observers, parts.requests, logger)
  const routes = createRoutes()
  // Before declared endpoints, whose paths may have a parameter in place of a word: `/v1/responses/{id}`.
  const inferenceRoutes = addInferenceEndpoints(routes, parts, listener)
  addDeclaredEndpoints(routes, parts, listener)
  parts.onceServing(routes.prepare)
  const stages: readonly Stage[] = [
    ...(hasMiddleware ? [middlewareStage(sendLazyBody)] : []),
    { before: identifyRequests(parts.requests) },
    { around: handleErrors(logger, collectErrorCodes(steps), onHandled, parts.readsDetail) },
    ...(cors.origins.length > 0 ? [middlewareStage(createCorsMiddleware(cors))] : []),
    { before: normalizePath },
    { before: rewriteAzurePath },
    { before: refuseIfReplaced(parts.logState) },
  ]
  const others = composeStages(
    [middlewareStage(routes.dispatch)],
    rejectUnmatched(routes, composeUnmatchedAdmission(steps)),
  )
  const app = new GatewayApp(composeStages(stages, dispatchInference(inferenceRoutes, others)))
  if (hasMiddleware) installLazyBodies(app)
  logResponseErrors(app, logger)
  return app
}

const PROBE_PATHS = new Set(PROBES.map(({ path }) => path))

/** Responds to everything but the probes with 503 once the event log was replaced. */
function refuseIfReplaced(logState: Readiness['logState']): Step {
  return (ctx) => {
    if (logState() !== 'replaced' || PROBE_PATHS.has(ctx.path)) return
    if (isAnthropicPath(ctx.path)) ctx.errorStyle = 'anthropic'
    throw createLogReplacedError()
  }
}

function addDeclaredEndpoints(routes: Routes, parts: AppParts, listener: Listener): void {
  const { steps, authenticateOperator, hasOperators, recordRead, findKnownRequest } = parts
  const services = {
    admission: composeAdmission(steps),
    readBody: createBodyReader(parts.bodyLimit, parts.bodyQuota),
    readRawBody: createRawBodyReader(parts.bodyQuota),
    authenticateOperator,
    recordRead,
    findKnownRequest,
    hasMutableBodies: false,
  }
  for (const probe of createProbes(parts)) routes.add('the gateway', probe, composeEndpoint(probe, services))
  for (const { title, parts, isBuiltIn } of steps) {
    for (const endpoint of parts.endpoints ?? []) {
      if ((endpoint.listener ?? 'main') !== listener) continue
      const composed = composeEndpoint(endpoint, { ...services, hasMutableBodies: !isBuiltIn })
      const handle = isBuiltIn ? composed : nameThrower(composed, title)
      const isOpen = endpoint.access.type !== 'operator'
      routes.add(title, endpoint, isOpen ? handle : refuseWithoutOperators(hasOperators, handle))
    }
  }
}

/** Responds for an endpoint of operators while nobody could call it. */
function refuseWithoutOperators(hasOperators: () => boolean, handle: GatewayMiddleware): GatewayMiddleware {
  return (ctx, next) => {
    if (hasOperators()) return handle(ctx, next)
    throw new GatewayError(
      'not_found',
      'This gateway has no operators. Start it with an ADMIN_KEY to have one.',
    )
  }
}

/** The response of a package is encoded behind its handler, which may call code of the package, too. */
function nameThrower(handle: GatewayMiddleware, title: string): GatewayMiddleware {
  return async (ctx, next) => {
    try {
      await handle(ctx, next)
    } catch (thrown) {
      throw GatewayError.isInstance(thrown) ? thrown : toError(thrown, { title }, 'an endpoint')
    }
  }
}

/** Returns the handlers of the endpoints by path. */
function addInferenceEndpoints(
  routes: Routes,
  parts: AppParts,
  listener: Listener,
): ReadonlyMap<string, Step> {
  const handlers = new Map<string, Step>()
  for (const inference of listInferenceEndpoints(parts.steps)) {
    const { owner, endpoint } = inference
    if ((endpoint.listener ?? 'main') !== listener) continue
    const handle = composeInference(inference, parts)
    routes.add(owner, endpoint, toMiddleware(handle))
    handlers.set(endpoint.path, handle)
  }
  return handlers
}

/**
 * Dispatches inference requests by exact path. They are nearly all of the traffic, and the router, which
 * knows these paths too, would try one pattern after the other. See docs/decisions/http.md, "Common requests
 * take a short path, unusual ones the libraries' own". `others` serves the other requests.
 */
function dispatchInference(handlers: ReadonlyMap<string, Step>, others: Step): Step {
  return (ctx) => {
    const handle = ctx.method === 'POST' ? handlers.get(ctx.path) : undefined
    if (handle === undefined) return others(ctx)
    // Middleware of packages looks for the fields that the router sets.
    if (isBodyLazy(ctx))
      Object.assign(ctx, { _matchedRoute: ctx.path, routerPath: ctx.path, captures: [], params: {} })
    return handle(ctx)
  }
}
