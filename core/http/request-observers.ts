import type { Logger } from 'pino'
import { type GatewayError, redactApiKeys } from '../contract/errors.ts'
import type { EndedRequest, GatewayContext, RequestObserver } from '../contract/index.ts'
import { describeThrower } from '../util/plugin-context.ts'
import type { RequestsInFlight } from './client-connection.ts'

/**
 * Returns a function that notifies the observers once the response to a request has ended, also for rejected
 * requests. Call it after the middleware chain has ended: if the client disconnects, the chain still records
 * the outcome of the provider call. See docs/decisions/plugins.md, "Observers see a request when its response
 * has ended".
 */
export function notifyObservers(
  observers: readonly RequestObserver[],
  requests: Pick<RequestsInFlight, 'delete'>,
  logger: Logger,
) {
  function notify(ctx: GatewayContext): void {
    logFailedStream(ctx, logger)
    notifyAll(observers, toEndedRequest(ctx), logger)
    requests.delete(ctx.client)
  }

  return (ctx: GatewayContext): void => {
    ctx.client.onClose(() => {
      if (ctx.lateReply === undefined) notify(ctx)
      else void ctx.lateReply.then(() => notify(ctx))
    })
  }
}

/** Unexpected errors are logged when they are answered, except those of a response that has started. */
function logFailedStream(ctx: GatewayContext, logger: Logger): void {
  const { error, exchange, requestId, traceId }: Partial<GatewayContext> = ctx
  const failure = error === undefined ? exchange?.error : undefined
  if (failure?.code !== 'internal_error') return
  const err = failure.cause ?? failure
  logger.error({ err, ...describeThrower(err), requestId, traceId }, failure.message)
}

/** An observer that throws does not affect the others. */
function notifyAll(observers: readonly RequestObserver[], request: EndedRequest, logger: Logger): void {
  for (const observe of observers) {
    try {
      observe(request)
    } catch (err) {
      const { id: requestId, traceId } = request
      logger.error({ err, requestId, traceId, ...describeThrower(err) }, 'request observer failed')
    }
  }
}

function toEndedRequest(ctx: GatewayContext): EndedRequest {
  // Both are undefined if the request failed before they were set.
  const { account, exchange }: Partial<Pick<GatewayContext, 'account' | 'exchange'>> = ctx
  return {
    id: ctx.requestId,
    traceId: ctx.traceId,
    method: ctx.method,
    path: ctx.path,
    endpoint: ctx.endpoint,
    isInference: ctx.isInference === true,
    status: ctx.status,
    error: ctx.error ?? exchange?.error,
    isAborted: ctx.client.isAborted,
    startedAt: ctx.startedAt,
    endedAt: performance.now(),
    overheadMs: ctx.overheadMs,
    account,
    exchange,
  }
}

/**
 * Creates an observer that logs one line per request: caller, outcome and duration, no prompt or reply. The
 * error is named by its code, because its message may quote the request.
 */
export function logRequests(logger: Logger): RequestObserver {
  // Redaction is off, because it costs more than the line itself and every field here is known to be safe.
  const requestLogger = logger.child({}, { redact: [] })
  return (request) => requestLogger.info(toLogFields(request), 'request')
}

/** Fields that are undefined are left out of the line. */
function toLogFields(request: EndedRequest) {
  const { error, exchange } = request
  return {
    requestId: request.id,
    traceId: request.traceId,
    method: request.method,
    path: redactApiKeys(request.path),
    status: request.isAborted ? 'client_disconnected' : request.status,
    code: error?.code,
    rule: error && ruleOf(error),
    ms: Math.round(request.endedAt - request.startedAt),
    user: request.account?.userId,
    provider: exchange?.target?.provider,
    model: exchange?.target?.model,
    attempts: exchange?.attempts.length,
  }
}

/** The firewall rule that refused a request, in the form in which searches of the ledger take it. */
function ruleOf({ type, details }: GatewayError): string | undefined {
  const id = details.meta?.rule_id
  return type === 'firewall_error' && typeof id === 'number' ? `firewall:${id}` : undefined
}
