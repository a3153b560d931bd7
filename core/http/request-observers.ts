import type { Logger } from 'pino'
import { redactApiKeys } from '../contract/errors.ts'
import type { EndedRequest, GatewayContext, RequestObserver } from '../contract/index.ts'

/**
 * Tells the observers of a request, also of one that was refused, when its answer has ended. To be called when the chain has: when the client
 * leaves, that still notes what became of the call to the provider.
 */
export function notifyObservers(observers: readonly RequestObserver[], logger: Logger) {
  return (ctx: GatewayContext): void => {
    ctx.client.onClose(() => notifyAll(observers, toEndedRequest(ctx), logger))
  }
}

/** An observer that throws keeps nobody else from hearing. */
function notifyAll(observers: readonly RequestObserver[], request: EndedRequest, logger: Logger): void {
  for (const observe of observers) {
    try {
      observe(request)
    } catch (err) {
      logger.error({ err, requestId: request.id }, 'a request could not be observed')
    }
  }
}

function toEndedRequest(ctx: GatewayContext): EndedRequest {
  // Both are set only once a request came that far.
  const { account, exchange }: Partial<Pick<GatewayContext, 'account' | 'exchange'>> = ctx
  return {
    id: ctx.requestId,
    method: ctx.method,
    path: ctx.path,
    endpoint: ctx.endpoint ?? endpointOf(ctx),
    status: ctx.status,
    isAborted: ctx.client.isAborted,
    startedAt: ctx.startedAt,
    endedAt: performance.now(),
    account,
    exchange,
  }
}

interface MatchedRoute {
  readonly path: string | RegExp
  readonly methods: readonly string[]
}

/** The pattern of the route that served the request, if one did. */
function endpointOf(ctx: GatewayContext): string | undefined {
  // The router leaves there what matched, of which Koa's types know nothing.
  const { matched = [] } = ctx as { matched?: readonly MatchedRoute[] }
  return matched.find(({ methods }) => methods.includes(ctx.method))?.path.toString()
}

/** One line per request: who asked, what became of it, how long it took. No texts. */
export function logRequests(logger: Logger): RequestObserver {
  // Looking for what must not be shown costs more than the line itself, and here every field is known.
  const lines = logger.child({}, { redact: [] })
  return (request) => lines.info(toLogFields(request), 'request')
}

function toLogFields({
  id,
  method,
  path,
  isAborted,
  status,
  startedAt,
  endedAt,
  account,
  exchange,
}: EndedRequest) {
  return {
    requestId: id,
    method,
    path: redactApiKeys(path),
    status: isAborted ? 'left' : status,
    ms: Math.round(endedAt - startedAt),
    user: account?.userId,
    ...(exchange && {
      provider: exchange.target?.provider,
      model: exchange.target?.model,
      attempts: exchange.attempts.length,
    }),
  }
}
