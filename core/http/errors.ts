import type Koa from 'koa'
import type { Logger } from 'pino'
import {
  EventLogUnavailableError,
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  type JsonObject,
} from '../contract/index.ts'

type ErrorBody = NonNullable<GatewayContext['errorBody']>

/** Builds the general error envelope (docs/api.md, "Errors"). */
export function errorEnvelope(error: GatewayError): JsonObject {
  const { message, type, status } = error
  const { errors, retryAfter } = error.details
  const optional = { ...(errors && { errors }), ...(retryAfter !== undefined && { retry_after: retryAfter }) }
  return { error: { message, type, http_status: status, ...optional } }
}

/** Creates middleware that sets the body format for errors thrown by later middleware. */
export function setErrorBody(errorBody: ErrorBody): GatewayMiddleware {
  return (ctx, next) => {
    ctx.errorBody = errorBody
    return next()
  }
}

/**
 * Creates middleware that turns errors thrown by later middleware into error responses. Calls `onHandled` for
 * every request once the middleware chain has ended, whether it failed or not.
 */
export function handleErrors(logger: Logger, onHandled: (ctx: GatewayContext) => void): GatewayMiddleware {
  return async (ctx, next) => {
    try {
      await next()
    } catch (thrown) {
      if (ctx.client.isAborted) return
      const error = toGatewayError(thrown)
      if (error.status >= 500) logger.error({ err: thrown, requestId: ctx.requestId }, error.message)
      for (const [name, value] of Object.entries(error.details.headers ?? {})) ctx.set(name, value)
      if (error.details.retryAfter !== undefined) ctx.set('retry-after', String(error.details.retryAfter))
      ctx.status = error.status
      ctx.body = (ctx.errorBody ?? errorEnvelope)(error)
    } finally {
      onHandled(ctx)
    }
  }
}

function toGatewayError(thrown: unknown): GatewayError {
  if (GatewayError.isInstance(thrown)) return thrown
  if (EventLogUnavailableError.isInstance(thrown)) return toEventLogError(thrown)
  const koaError = fromKoaError(thrown)
  if (koaError !== undefined) return koaError
  const message = 'The gateway failed to process the request. Include the x-request-id when you report this.'
  return new GatewayError('internal_error', message, { cause: thrown })
}

function toEventLogError(cause: EventLogUnavailableError): GatewayError {
  if (cause.diskFull) {
    const message =
      'The event log has no disk space left. Nothing was changed. Free disk space before you retry.'
    return new GatewayError('event_log_full', message, { cause })
  }
  const message = cause.outcomeUnknown
    ? 'The event log is unavailable; the change may or may not have been saved. Check before you retry.'
    : 'The event log is unavailable. Nothing was changed. Retry the request.'
  return new GatewayError('event_log_unavailable', message, { cause, retryAfter: 1 })
}

/**
 * Converts a Koa error such as `ctx.throw(403, 'Not here.')` to a `GatewayError`. Returns undefined for any
 * other error, and for a Koa error whose message or status must not be exposed to the client.
 */
export function fromKoaError(thrown: unknown): GatewayError | undefined {
  if (!(thrown instanceof Error && 'expose' in thrown && 'status' in thrown)) return undefined
  const { expose, status, message } = thrown
  if (expose !== true || typeof status !== 'number' || status < 400 || status > 499) return undefined
  const headers = 'headers' in thrown ? toHeaders(thrown.headers) : {}
  return new GatewayError('refused', message, { status, headers, cause: thrown })
}

function toHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Error codes of a socket whose client disconnected. The request log line reports these requests already. */
const DISCONNECT_CODES = new Set(['ECONNABORTED', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/**
 * Logs responses that failed after they had started. By default Koa prints such errors to stderr, bypassing
 * the logger and its redaction.
 */
export function logResponseErrors(app: Koa, logger: Logger): void {
  app.on('error', (err: Error & { code?: string }, ctx?: Partial<GatewayContext>) => {
    if (ctx?.client?.isAborted || DISCONNECT_CODES.has(err.code ?? '')) return
    logger.error({ err, requestId: ctx?.requestId }, 'response failed after it had started')
  })
}
