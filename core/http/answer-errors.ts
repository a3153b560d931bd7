import type { Next } from 'koa'
import type { Logger } from 'pino'
import { type GatewayContext, GatewayError, type JsonObject, LogUnavailable } from '../contract/index.ts'

export type ErrorBody = (error: GatewayError) => JsonObject

/** The general envelope (interface: "Errors"). */
export function envelope(error: GatewayError): JsonObject {
  const { errors } = error.details
  return {
    error: { message: error.message, type: error.type, http_status: error.status, ...(errors && { errors }) },
  }
}

/** Turns what is thrown further down into an answer of the given shape. The innermost shape answers. */
export function answerErrors(logger: Logger, bodyOf: ErrorBody = envelope) {
  return async (ctx: GatewayContext, next: Next): Promise<void> => {
    try {
      await next()
    } catch (thrown) {
      if (ctx.signal.aborted) return
      const error = readError(thrown)
      if (error.status >= 500) logger.error({ err: thrown, requestId: ctx.requestId }, error.message)
      for (const [name, value] of Object.entries(error.details.headers ?? {})) ctx.set(name, value)
      if (error.details.retryAfter !== undefined) ctx.set('retry-after', String(error.details.retryAfter))
      ctx.status = error.status
      ctx.body = bodyOf(error)
    }
  }
}

function readError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  if (thrown instanceof LogUnavailable) return logError(thrown)
  return new GatewayError(
    'internal_error',
    'The gateway failed. Quote the x-request-id when you report it.',
    {
      cause: thrown,
    },
  )
}

function logError(cause: LogUnavailable): GatewayError {
  return cause.full
    ? new GatewayError('event_log_full', 'The event log has no room left. Nothing was changed.', { cause })
    : new GatewayError('event_log_unavailable', 'The event log is away. Nothing was changed. Try again.', {
        cause,
        retryAfter: 1,
      })
}
